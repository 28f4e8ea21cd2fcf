/// Files created within the same second have the same name: they get `_2`, `_3`, … before their extension, oldest first.
public enum UniqueFileNames {
    public static func make(_ names: [String]) -> [String] {
        var taken: Set<String> = []
        return names.map { name in
            var candidate = name
            var number = 2
            while !taken.insert(candidate).inserted {
                let dot = name.lastIndex(of: ".") ?? name.endIndex
                candidate = "\(name[..<dot])_\(number)\(name[dot...])"
                number += 1
            }
            return candidate
        }
    }
}

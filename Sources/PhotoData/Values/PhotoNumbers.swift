/// Numbers in the texts of tags.
enum PhotoNumbers {
    /// `1/125`, or a whole number.
    static func fraction(_ text: some StringProtocol) -> Fraction? {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count <= 2, let first = parts.first, let numerator = Int64(first) else { return nil }
        if parts.count == 1 { return Fraction(numerator: numerator, denominator: 1) }
        guard let denominator = Int64(parts[1]) else { return nil }
        return Fraction(numerator: numerator, denominator: denominator)
    }

    /// The first number of a list, of which each is a fraction.
    static func fractions(_ text: String) -> [Fraction] { text.split(separator: " ").compactMap(fraction) }

    /// A positive value below 10 million; Exif uses 0 and `1/0` for what is unknown.
    static func positive(_ text: String?) -> Double? {
        guard let value = text.flatMap({ fractions($0).first })?.value, value > 0, value < 10_000_000 else { return nil }
        return value
    }

    /// The first whole number of a list.
    static func whole(_ text: String?) -> Int? { text?.split(separator: " ").first.flatMap { Int($0) } }
}

/// Places on the Earth in the texts of tags.
enum PhotoPlace {
    /// Degrees, minutes and seconds as in Exif, `48/1 30/1 0/1`, with the letter of the hemisphere.
    /// - Parameters:
    ///   - reference: a letter of `letters` in either case; without one it is the first of them, as most programs take it.
    ///   - letters: of the positive and the negative hemisphere.
    ///   - limit: of the degrees.
    /// - Returns: `nil` for another letter, an unknown value, and one out of range.
    static func degrees(_ text: String?, reference: String?, letters: (Character, Character), limit: Double) -> Double? {
        guard let text else { return nil }
        let parts = text.split(separator: " ").map { PhotoNumbers.fraction($0) }
        guard (1...3).contains(parts.count) else { return nil }
        var sum = 0.0
        for (part, unit) in zip(parts, [1.0, 60, 3600]) {
            guard let part else { return nil }
            // 0/0 in the place of minutes or seconds: the earlier parts say it all.
            if part.denominator == 0, part.numerator == 0, unit > 1 { continue }
            guard let value = part.value, value >= 0 else { return nil }
            sum += value / unit
        }
        return signed(sum, reference: reference, letters: letters, limit: limit)
    }

    /// `48,30.5N` or `48,30,30N`, as in XMP.
    static func xmpDegrees(_ text: String?, letters: (Character, Character), limit: Double) -> Double? {
        guard let text, let letter = text.last, letter.isLetter else { return nil }
        let parts = text.dropLast().split(separator: ",").map { Double($0) }
        guard (2...3).contains(parts.count) else { return nil }
        var sum = 0.0
        for (part, unit) in zip(parts, [1.0, 60, 3600]) {
            guard let part, part.isFinite, part >= 0 else { return nil }
            sum += part / unit
        }
        return signed(sum, reference: String(letter), letters: letters, limit: limit)
    }

    private static func signed(
        _ degrees: Double, reference: String?, letters: (Character, Character), limit: Double
    ) -> Double? {
        guard degrees.isFinite, degrees <= limit else { return nil }
        let letter = reference?.first { $0 != " " && $0 != "\0" }?.uppercased()
        switch letter {
        case nil, String(letters.0): return rounded(degrees)
        case String(letters.1): return -rounded(degrees)
        default: return nil
        }
    }

    /// To seven digits after the point, a centimetre: a sum of minutes and seconds has an error in its last digits
    /// (139.70000000000002), and no camera is as exact as that.
    private static func rounded(_ degrees: Double) -> Double { (degrees * 1e7).rounded() / 1e7 }

    /// A text of ISO 6709 as videos have it: `+48.8584+002.2945+035.000/`.
    static func iso6709(_ text: String) -> (latitude: Double, longitude: Double, altitude: Double?)? {
        var numbers: [(text: String, digits: Int)] = []
        for character in text {
            if character == "+" || character == "-" {
                guard numbers.count < 3 else { return nil }
                numbers.append((String(character), 0))
            } else if let last = numbers.indices.last, character == "." || ("0"..."9").contains(character) {
                if !numbers[last].text.contains("."), character != "." { numbers[last].digits += 1 }
                numbers[last].text.append(character)
            } else {
                break
            }
        }
        guard numbers.count >= 2, let latitude = sexagesimal(numbers[0], degreeDigits: 2),
            let longitude = sexagesimal(numbers[1], degreeDigits: 3), abs(latitude) <= 90, abs(longitude) <= 180
        else { return nil }
        let altitude = numbers.count > 2 ? Double(numbers[2].text) : nil
        return (latitude, longitude, altitude.flatMap { PhotoLimits.altitudeMetres.contains($0) ? $0 : nil })
    }

    /// By the number of digits before the point: degrees, degrees and minutes, or degrees, minutes and seconds.
    private static func sexagesimal(_ number: (text: String, digits: Int), degreeDigits: Int) -> Double? {
        guard let value = Double(number.text), value.isFinite else { return nil }
        let sign = number.text.hasPrefix("-") ? -1.0 : 1.0
        let amount = abs(value)
        switch number.digits {
        // One more is a leading zero; more degrees than there are do not count.
        case ...(degreeDigits + 1): return value
        case degreeDigits + 2:
            return sign * rounded((amount / 100).rounded(.down) + amount.truncatingRemainder(dividingBy: 100) / 60)
        case degreeDigits + 4:
            let minutes = (amount / 100).rounded(.down).truncatingRemainder(dividingBy: 100)
            return sign
                * rounded((amount / 10_000).rounded(.down) + minutes / 60 + amount.truncatingRemainder(dividingBy: 100) / 3600)
        default: return nil
        }
    }
}

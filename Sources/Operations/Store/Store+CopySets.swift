import CopyVerify

extension Store {
    /// The sets of destinations in the settings, as last read, with whole paths.
    public var copySets: [CopySetPlace] {
        settings.copySets.map { set in
            CopySetPlace(name: set.name, destinations: set.destinations.map(paths.resolve), options: set.options)
        }
    }
}

import AppData
import ArgumentParser

extension Channel: ExpressibleByArgument {}

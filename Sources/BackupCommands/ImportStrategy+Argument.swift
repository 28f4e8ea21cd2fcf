import AppData
import ArgumentParser

extension ImportStrategy: ExpressibleByArgument {}

import SystemIO

/// What the environment says of a desktop.
enum DesktopSession {
    /// Whether programs can open windows.
    static var hasScreen: Bool { Environment.text("DISPLAY") != nil || Environment.text("WAYLAND_DISPLAY") != nil }

    /// Whether messages can be shown: they go over the user's message bus.
    static var hasMessages: Bool { hasScreen || Environment.text("DBUS_SESSION_BUS_ADDRESS") != nil }
}

import BackupCore
import SystemIO

/// A bounded queue from one thread to another one.
final class WorkQueue<Element: Sendable>: Sendable {
    private let limit: Int
    private let waiting = Monitor<[Element]>([])

    init(limit: Int) { self.limit = limit }

    /// Waits while the queue is full. One thread only.
    func push(_ elements: [Element]) {
        let limit = limit
        waiting.wait(until: { $0.count < limit }, { _ in })
        waiting.changeWakingAll { $0 += elements }
    }

    func push(_ element: Element) { push([element]) }

    /// Passes the elements on in their order, and waits for more. An element is released as soon as it was passed on. One thread
    /// only.
    /// - Parameter body: returns whether to continue.
    func forEach(_ body: (Element) -> Bool) {
        while true {
            waiting.wait(until: { !$0.isEmpty }, { _ in })
            var taken = waiting.changeWakingAll { waiting in
                defer { waiting = [] }
                return waiting
            }
            taken.reverse()
            while let element = taken.popLast() {
                guard body(element) else { return }
            }
        }
    }
}

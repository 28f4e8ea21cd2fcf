import BackupCore
import CopyVerify
import Operations
import Synchronization
import SystemIO

/// The copy jobs that the process of a mount works at, each on a thread of its own.
final class JobHost: Sendable {
    private let store: Store
    private let running = Mutex<[String: (thread: SystemThread, stop: Cancellation)]>([:])

    /// Jobs whose source and destinations are looked at.
    private let beginning = Mutex<Set<String>>([])

    init(store: Store) { self.store = store }

    /// What was written into a job's file `control`.
    /// - Throws: `invalidArgument` for anything but a request; `notFound` when no process works at the job; for `resume` also why
    ///   the job cannot continue.
    func ask(_ name: FileName, _ text: [UInt8]) throws(BackupError) {
        let word = String(decoding: text, as: UTF8.self).split(whereSeparator: \.isWhitespace)
        guard word.count == 1, let request = JobFolder.Request(rawValue: String(word[0])) else {
            throw BackupError(
                .invalidArgument, "a request to a job is one of the words pause, resume and cancel", path: name.description)
        }
        let folder = try JobFolder.open("\(store.paths.jobs)/\(name)", in: store.paths.jobs)
        if request == .resume, !folder.isRunning { return try resume(folder) }
        try folder.ask(request)
    }

    private func resume(_ folder: JobFolder) throws(BackupError) {
        let id = folder.record.id
        // Two requests at once would begin two threads.
        let isFirst = beginning.withLock { $0.insert(id).inserted }
        guard isFirst, running.withLock({ $0[id] == nil }) else {
            if isFirst { beginning.withLock { _ = $0.remove(id) } }
            throw BackupError(.busy, "the job is being resumed", path: folder.path)
        }
        defer { beginning.withLock { _ = $0.remove(id) } }
        // What would keep it from beginning is the answer to close(2).
        let job = try CopyJob.resume(folder)
        let stop = Cancellation()
        try running.withLock { (running) throws(BackupError) in
            let thread = try SystemThread { [self] in
                run(job, stop)
                // At the end of the mount, another thread waits for this one.
                if let ended = self.running.withLock({ $0.removeValue(forKey: id) }) { ended.thread.detach() }
            }
            running[id] = (thread, stop)
        }
    }

    private func run(_ job: CopyJob, _ stop: Cancellation) {
        let startedAt = SystemClock.now()
        FolderCopyLog(store).noteBeginning()
        let result = Result { () throws(BackupError) in
            try stop.run { () throws(BackupError) in try job.run(stop: stop, version: ProgramVersion.text) }.state
        }
        MountedJobEnd(store: store).conclude(job.folder, result, startedAt: startedAt)
    }

    /// Lets the jobs pause, and waits until their records say so. The next mount leaves them paused.
    func end() {
        let jobs = running.withLock { running in
            defer { running = [:] }
            return Array(running.values)
        }
        for job in jobs { job.stop.request() }
        for job in jobs { job.thread.join() }
    }
}

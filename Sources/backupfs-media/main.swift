import CMedia
import Glibc
import PhotoData

if CommandLine.arguments.dropFirst().first == "pages" { PageDrawing.run() }
// First of all, before any thread is there and any library has opened anything. A photo is read only in the sandbox.
var problem = cmedia_give_up_rights()
if problem == nil { problem = cmedia_load_libraries() }
if problem == nil { problem = cmedia_enter_sandbox() }
let ready = MediaRequest(.ready, number: 0)
if let problem {
    HelperChannel.send(MediaAnswer(ready, .refused, content: Array(String(cString: problem).utf8)))
    exit(1)
}
HelperChannel.send(MediaAnswer(ready, .found))
while let (request, descriptor) = HelperChannel.receive() {
    HelperChannel.send(PhotoQuestion(request, descriptor: descriptor).answer())
    if descriptor >= 0 { close(descriptor) }
}

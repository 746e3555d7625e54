// An HTTP server: /pool waits 4 ms in a pool of 8, /hash digests 20 kB.
const http = require("http");
const crypto = require("crypto");
const block = Buffer.alloc(20000, "x");
let free = 8;
const waiting = [];
function work(response) {
  setTimeout(() => {
    response.end("ok");
    const next = waiting.shift();
    if (next) work(next);
    else free += 1;
  }, 4);
}
http
  .createServer((request, response) => {
    if (request.url === "/hash") response.end(crypto.createHash("sha256").update(block).digest("hex"));
    else if (free > 0) {
      free -= 1;
      work(response);
    } else waiting.push(response);
  })
  .listen(Number(process.argv[2]), "127.0.0.1");

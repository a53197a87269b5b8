// Serves the playground on this machine alone, until it is interrupted, and opens it if there is a desktop:
// node serve.js FOLDER [PORT]
import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const [folder, port = 8321] = process.argv.slice(2);
const server = createServer((request, response) => {
  if (!['/', '/index.html'].includes(request.url.split('?', 1)[0])) {
    response.writeHead(404).end();
    return;
  }
  response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' }).end(readFileSync(join(folder, 'index.html')));
});
server.on('error', () => server.listen(0, '127.0.0.1')); // the port is taken
server.on('listening', () => {
  const address = `http://127.0.0.1:${server.address().port}/`;
  console.log(`The playground is at ${address} (Ctrl-C ends it)`);
  openPage(address);
});

// Without a desktop, or without its program, the line above is what users have.
function openPage(address) {
  const { DISPLAY, WAYLAND_DISPLAY } = process.env, opener = process.platform === 'darwin' ? 'open' : DISPLAY || WAYLAND_DISPLAY ? 'xdg-open' : null;
  if (opener) spawn(opener, [address], { stdio: 'ignore' }).on('error', () => {}).unref();
}
server.listen(Number(port), '127.0.0.1');

// Serves the playground on this machine alone, until it is interrupted: node serve.js FOLDER [PORT]
import { createServer } from 'node:http';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const [folder, port = 8321] = process.argv.slice(2);
const server = createServer((request, response) => {
  if (new URL(request.url, 'http://localhost').pathname !== '/') {
    response.writeHead(404).end();
    return;
  }
  response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' }).end(readFileSync(join(folder, 'index.html')));
});
server.on('error', () => server.listen(0, '127.0.0.1')); // the port is taken
server.on('listening', () => console.log(`The playground is at http://127.0.0.1:${server.address().port}/ (Ctrl-C ends it)`));
server.listen(Number(port), '127.0.0.1');

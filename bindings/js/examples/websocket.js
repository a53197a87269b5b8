// Sync over a WebSocket, or anything that carries messages of bytes. One side calls `syncOver` as often as it likes, the other
// answers with `answerOver`. `next` resolves to the next message that came, as a Uint8Array.
//
//   client   const memory = await syncOver(socket, next, filter, memory);      // of the sync before, or null
//   server   socket.on('message', (data) => answerOver(socket, filter, data));

export async function syncOver(socket, next, filter, memory = null) {
  const session = filter.startSync(memory);
  try {
    for (let message = session.next(); message !== null; message = session.next(await next())) socket.send(message);
    return session.memory();
  } finally {
    session.free();
  }
}

// A message may come from anyone. One that makes no sense ends the connection, not the server; the error is returned.
export function answerOver(socket, filter, data) {
  try {
    socket.send(filter.reply(new Uint8Array(data)));
    return null;
  } catch (error) {
    if (error.reply) socket.send(error.reply); // tells the other side what is wrong
    socket.close();
    return error;
  }
}

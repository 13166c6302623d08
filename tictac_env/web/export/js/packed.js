// What the files of data hold: bytes, deflated, in base64.

export async function bytes(packed) {
  const deflated = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
  const stream = new Blob([deflated]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}

// Steps between ascending numbers, of seven bits a byte, the lowest first; the eighth bit says that there are more.
export async function stepsOf(packed) {
  const steps = [];
  let [step, scale] = [0, 1];
  for (const part of new Uint8Array(await bytes(packed))) {
    step += (part & 127) * scale;
    scale *= 128;
    if (part > 127) continue;
    steps.push(step);
    [step, scale] = [0, 1];
  }
  return steps;
}

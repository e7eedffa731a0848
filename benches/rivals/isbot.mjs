// Times npm isbot on lists of User-Agents: node isbot.mjs MODULE LIST...
// Prints nanoseconds a User-Agent, one line a list: the fastest of nine turns.
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const [module, ...lists] = process.argv.slice(2);
const { isbot } = await import(pathToFileURL(module));
let robots = 0;

function turn(userAgents) {
  const start = process.hrtime.bigint();
  let passes = 0;
  let elapsed = 0;
  while (elapsed < 50e6) {
    for (const userAgent of userAgents) robots += isbot(userAgent);
    passes += 1;
    elapsed = Number(process.hrtime.bigint() - start);
  }
  return elapsed / (passes * userAgents.length);
}

for (const list of lists) {
  const userAgents = readFileSync(list, 'utf8').split('\n').slice(0, -1);
  turn(userAgents);
  const times = Array.from({ length: 9 }, () => turn(userAgents));
  console.log(Math.min(...times).toFixed(1));
}
if (robots === 0) throw new Error('no User-Agent was taken for a robot');

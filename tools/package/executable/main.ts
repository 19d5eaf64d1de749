/** Where the executable begins: what bin/fairlead.js is for Node.js. */
import { main } from '../../../src/cli/main.ts'

void main(process.argv.slice(2)).then((exitCode) => {
  process.exitCode = exitCode
})

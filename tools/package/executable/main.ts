/** Where the executable begins: what bin/fairlead.js is for Node.js. */
import { main } from '../../../src/cli/main.ts'
import { translateStacks } from './source-lines.ts'

translateStacks()
void main(process.argv.slice(2)).then((exitCode) => {
  process.exitCode = exitCode
})

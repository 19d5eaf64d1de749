/**
 * Builds the native engine of the userspace mode into `dist`. With --if-possible it is no error if it cannot be built:
 * without the engine the userspace mode uses Node's own sockets.
 */
import { fileURLToPath } from 'node:url'
import { compileForUse } from './compile-native-relay.ts'

const isOptional = process.argv.includes('--if-possible')
const folder = `${process.platform}-${process.arch}`
const program = fileURLToPath(new URL(`../dist/native/${folder}/fairlead-relay`, import.meta.url))

try {
  if (process.platform !== 'linux') throw new Error('it needs epoll and splice, which only Linux has')
  if ((await compileForUse(program)) === 'pie')
    process.stderr.write(
      'the native relay is built, but not statically: the compiler has no -static-pie, or no static C library. ' +
        'It runs on machines with the same C library\n',
    )
} catch (error) {
  const reason = error instanceof Error ? error.message : String(error)
  process.stderr.write(`the native relay is not built (the userspace mode works without, but slower): ${reason}\n`)
  if (!isOptional) process.exitCode = 1
}

/**
 * Builds the native engine of the userspace mode into `dist`. With --if-possible it is no error if it cannot be built:
 * without the engine the userspace mode uses Node's own sockets. With --arch=amd64,arm64 it is built for other machines,
 * too; the program chooses by the processor that it runs on.
 */
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { compileForUse } from './compile-native-relay.ts'
import { architectures, parseArchitectures } from './package/architectures.ts'

const { values } = parseArgs({ options: { 'if-possible': { type: 'boolean' }, arch: { type: 'string' } } })
const targets =
  values.arch === undefined
    ? [{ node: process.arch, compiler: undefined }]
    : parseArchitectures(values.arch).map((name) => {
        const { node, tools } = architectures[name]
        return { node, compiler: node === process.arch ? undefined : `${tools}gcc` }
      })

for (const { node, compiler } of targets) {
  const program = fileURLToPath(new URL(`../dist/native/${process.platform}-${node}/fairlead-relay`, import.meta.url))
  try {
    if (process.platform !== 'linux') throw new Error('it needs epoll and splice, which only Linux has')
    if ((await compileForUse(program, [], compiler)) === 'pie')
      process.stderr.write(
        `the native relay for ${node} is built, but not statically: the compiler has no -static-pie, or no static C ` +
          'library. It runs on machines with the same C library\n',
      )
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    process.stderr.write(
      `the native relay for ${node} is not built (the userspace mode works without, but slower): ${reason}\n`,
    )
    if (values['if-possible'] !== true) process.exitCode = 1
  }
}

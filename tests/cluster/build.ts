/**
 * Builds the real programs that the cluster tests run: `tsx tests/cluster/build.ts [program…]`.
 * Without names it builds what the tests always need; kube-proxy is built when asked for.
 */
import { buildProgram, isProgram, programs } from './testing/programs.ts'

const names = process.argv.slice(2)
const unknown = names.filter((name) => !isProgram(name))
if (unknown.length > 0) {
  process.stderr.write(`cluster: no such program: ${unknown.join(', ')}. Known: ${programs.join(', ')}.\n`)
  process.exitCode = 1
} else {
  try {
    for (const name of names.length > 0
      ? names.filter(isProgram)
      : (['etcd', 'kube-apiserver', 'endpointslice-mirroring', 'jaeger', 'helm'] as const)) {
      process.stderr.write(`cluster: ${name} is at ${await buildProgram(name)}\n`)
    }
  } catch (error) {
    process.stderr.write(`cluster: ${error instanceof Error ? error.message : String(error)}\n`)
    process.exitCode = 1
  }
}

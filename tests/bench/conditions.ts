/** Under which conditions the numbers were measured: without them they say nothing. */
import { execFileSync } from 'node:child_process'
import { cpus, loadavg, release, totalmem, type } from 'node:os'

export function describeConditions(): string {
  const processors = cpus()
  const gigabytes = Math.round(totalmem() / 2 ** 30)
  const [load = 0] = loadavg()
  return [
    `Measured ${new Date().toISOString().slice(0, 10)} at commit ${commit()} with Node.js ${process.versions.node} on ${type()} ${release()}:`,
    `${processors.length} × ${processors[0]?.model.trim() ?? 'unknown CPU'}, ${gigabytes} GB of memory,`,
    `load average ${load.toFixed(1)} at the start (the machine is a shared VM, so mind the range).`,
  ].join(' ')
}

function commit(): string {
  try {
    return execFileSync('git', ['rev-parse', '--short', 'HEAD'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim()
  } catch {
    return 'unknown'
  }
}

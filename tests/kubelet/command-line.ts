import { parseArgs } from 'node:util'

export interface CommandLine {
  readonly isSmoke: boolean
  /** Names of proxies; empty for the usual ones. */
  readonly proxies: readonly string[]
  readonly focus: string | undefined
  readonly nodeCount: number
  readonly processes: number
  readonly does: 'test' | 'build' | 'hold' | 'table' | 'help'
  readonly isRecorded: boolean
  readonly reportFile: string | undefined
}

export const usage = `Usage: npm run test:e2e -- [option…] [proxy…]

A real cluster on this machine for each proxy, and Kubernetes' own tests of the network against it. Root on Linux.

  --smoke                     a few tests in a few minutes
  --focus=EXPRESSION          the tests with such a name
  --nodes=N                   nodes of the cluster (3; 2 with --smoke)
  --processes=N               tests at the same time (4)
  --record                    keep the results in tests/kubelet/recorded, and write the table of docs/conformance.md
  --table                     write that table from what is recorded, and test nothing
  --build                     build programs and images, and test nothing
  --hold                      start the cluster of one proxy, and keep it until Ctrl-C
  --outputFile.json=FILE      the results once more, as vitest reports them
`

export function parseCommandLine(args: readonly string[]): CommandLine {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      smoke: { type: 'boolean', default: false },
      focus: { type: 'string' },
      nodes: { type: 'string' },
      processes: { type: 'string', default: '4' },
      record: { type: 'boolean', default: false },
      table: { type: 'boolean', default: false },
      build: { type: 'boolean', default: false },
      hold: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
      'outputFile.json': { type: 'string' },
      // Words of vitest that a caller of all test tiers says to each; here they change nothing.
      reporter: { type: 'string', multiple: true },
      'no-file-parallelism': { type: 'boolean' },
    },
  })
  const does = (['help', 'table', 'build', 'hold'] as const).find((word) => values[word]) ?? 'test'
  return {
    isSmoke: values.smoke,
    proxies: positionals,
    focus: values.focus,
    // Some tests want three zones, and skip themselves with less.
    nodeCount: parseCount('nodes', values.nodes ?? (values.smoke ? '2' : '3')),
    processes: parseCount('processes', values.processes),
    does,
    isRecorded: values.record,
    reportFile: values['outputFile.json'],
  }
}

function parseCount(name: string, text: string): number {
  if (!/^[1-9]\d?$/.test(text)) throw new Error(`--${name}=${text} is not a number from 1 to 99`)
  return Number(text)
}

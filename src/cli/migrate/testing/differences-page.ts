/** docs/differences.md, made of the tables of the command: they are maintained once. */
import { sections } from '../behaviours.ts'
import { allModes, linuxModes, ourLinuxModes } from '../difference.ts'
import type { Behaviour } from '../difference.ts'
import { moveBetween } from '../move.ts'
import { fieldAnswers } from '../options.ts'

export function differencesPage(): string {
  const tables = sections.map(({ heading, rows }) => `## ${heading}\n\n${table(rows)}`)
  return [head, `## Options\n\n${options()}`, ...tables, `## From mode to mode\n\n${moves()}`].join('\n\n')
}

const head = `# Differences from kube-proxy

What Fairlead does differently than kube-proxy 1.36, on purpose. What is not on this page is the same, or a bug: please report it.

\`fairlead migrate --check\` prints the rows that matter for your configuration, with what to do and the way back
([migrate.md](migrate.md)). **Bold** rows need a decision before you move. This page is made of the same tables:
\`npx vitest run src/cli/migrate -u\` writes it.`

function options(): string {
  const rows = Object.entries(fieldAnswers).flatMap(([field, answerFor]) => {
    const answers = allModes.flatMap((mode) =>
      samples.map((value) => answerFor(value, { from: mode, to: mode, value: () => undefined })),
    )
    const told = answers.find(({ attention }) => attention !== 'same')
    return told === undefined ? [] : [row([`\`${field}\``, told.kubeProxy.replace(sample, 'that file'), told.fairlead])]
  })
  return `Every other option means the same. Options of one mode, such as \`ipvs.scheduler\`, have no effect in the others; \`migrate --check\` says
so where it matters. An option that kube-proxy refuses, Fairlead refuses too.

| option | kube-proxy | Fairlead |
| --- | --- | --- |
${[...rows, ...byHand].join('\n')}`
}

/** Windows has its own two modes. */
const pairs = [
  ...linuxModes.flatMap((from) => ourLinuxModes.map((to) => [from, to] as const)),
  ['kernelspace', 'kernelspace'] as const,
  ['kernelspace', 'userspace'] as const,
]

function moves(): string {
  const rows = pairs.map(([from, to]) => {
    const { lost, lostOnTheWayBack, back } = moveBetween(from, to)
    return row([from, to, lost, lostOnTheWayBack, back.map((step, index) => `${index + 1}. ${step}`).join('<br>')])
  })
  return `[migrate.md](migrate.md) has the commands for a cluster. \`tests/packet/takeover.test.ts\` shows what is lost, with the real kube-proxy 1.36, for
every pair of its iptables and nftables mode with Fairlead's iptables, nftables, ebpf and userspace mode; \`tests/ipvs/takeover.test.ts\` does so for
the pairs of ipvs and iptables.

| kube-proxy | Fairlead | lost on the way | lost on the way back | the way back |
| --- | --- | --- | --- | --- |
${rows.join('\n')}`
}

/** Something that is set, whatever the type. */
const sample = '/some/file'
const samples = [sample, true, '40000-40999', '127.0.0.1']

const byHand = [
  row([
    '`mode: userspace`',
    'Unknown since 1.26.',
    'Portals on a Linux node, addresses on a Windows node, plain sockets elsewhere.',
  ]),
  row(['macOS and others', 'It does not start.', 'It runs in userspace mode.']),
]

function table(rows: readonly Behaviour[]): string {
  const lines = rows.map(({ attention, name, kubeProxy, fairlead }) =>
    row([attention === 'decide' ? `**${name}**` : name, kubeProxy, fairlead]),
  )
  return `| name | kube-proxy | Fairlead |\n| --- | --- | --- |\n${lines.join('\n')}`
}

/** Names with stars and bars are no markdown. */
function row(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|').replaceAll(/(?<=\w)\*(?!\*)/g, '\\*')).join(' | ')} |`
}

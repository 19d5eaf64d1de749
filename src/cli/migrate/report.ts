/** What people and programs read. */
import { breakWords } from '../../config/flags/break-words.ts'
import { paint } from '../terminal.ts'
import type { Terminal } from '../terminal.ts'
import type { Comparison } from './compare.ts'
import { comesBack } from './difference.ts'
import type { Attention, Difference } from './difference.ts'
import { readAgain } from './options.ts'

const headings: Readonly<Record<Exclude<Attention, 'same'>, string>> = {
  decide: 'Needs a decision',
  differs: 'Differs, nothing to decide',
}
const colours = { decide: 'yellow', differs: 'bold' } as const

export function renderText(comparison: Comparison, terminal: Terminal): string {
  const { sources, from, to, differences, same, move } = comparison
  const groups = (['decide', 'differs'] as const).flatMap((attention) => {
    const rows = differences.filter((difference) => difference.attention === attention)
    if (rows.length === 0) return []
    const heading = paint(terminal, colours[attention], `${headings[attention]} (${rows.length})`)
    return [[heading, ...rows.map((row) => renderDifference(row, terminal))].join('\n')]
  })
  const parts = [
    `kube-proxy in ${from} mode → Fairlead in ${to} mode\nread: ${sources.join(', ')}`,
    ...groups,
    ...(same.length === 0
      ? []
      : [`${paint(terminal, 'bold', `Same (${same.length})`)}\n${paragraph(same.join(', '), '  ', terminal)}`]),
    [paint(terminal, 'bold', 'The move'), ...steps('lost', move.lost, move.steps, terminal)].join('\n'),
    [
      paint(terminal, 'bold', 'The way back'),
      ...steps('lost', move.lostOnTheWayBack, move.back, terminal),
      paragraph('Of the differences above that name no way back, nothing needs to be undone.', '    ', terminal),
    ].join('\n'),
    verdict(comparison),
  ]
  return `${parts.join('\n\n')}\n`
}

function verdict({ differences }: Comparison): string {
  const decisions = differences.filter(({ attention }) => attention === 'decide').length
  const others = differences.length - decisions
  return decisions === 0
    ? `nothing needs a decision; ${others} differences need none`
    : `${decisions} to decide; ${others} other differences need nothing`
}

function renderDifference({ name, kubeProxy, fairlead, action, rollback }: Difference, terminal: Terminal): string {
  return [
    `  ${paint(terminal, 'bold', name)}`,
    labelled('now', kubeProxy, terminal),
    labelled('then', fairlead, terminal),
    ...(action === '' ? [] : [labelled('do', action, terminal)]),
    ...(needsNothing.has(rollback) ? [] : [labelled('back', rollback, terminal)]),
  ].join('\n')
}

function steps(label: string, lost: string, list: readonly string[], terminal: Terminal): readonly string[] {
  return [labelled(label, lost, terminal), ...list.map((step, index) => labelled(`${index + 1}.`, step, terminal))]
}

/** Said once for all, at the end: the same sentence thirty times hides the others. */
const needsNothing: ReadonlySet<string> = new Set([comesBack, readAgain])

const labelWidth = 6

function labelled(label: string, text: string, terminal: Terminal): string {
  const indent = ' '.repeat(4 + labelWidth)
  return paragraph(text, indent, terminal).replace(indent, `    ${label.padEnd(labelWidth)}`)
}

function paragraph(text: string, indent: string, { columns = Number.POSITIVE_INFINITY }: Terminal): string {
  return breakWords(text, columns - indent.length)
    .map((line) => `${indent}${line}`)
    .join('\n')
}

export function renderJson(comparison: Comparison): string {
  const { differences } = comparison
  const count = (attention: Attention) => differences.filter((difference) => difference.attention === attention).length
  const counts = { decide: count('decide'), differs: count('differs'), same: comparison.same.length }
  return `${JSON.stringify({ ...comparison, counts }, undefined, 2)}\n`
}

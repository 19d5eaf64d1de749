/** What people and programs read. */
import { paint } from '../terminal.ts'
import type { Terminal } from '../terminal.ts'
import { breakWords } from '../../config/flags/break-words.ts'
import { severities } from './finding.ts'
import type { Examination } from './examine.ts'
import type { Finding, Severity } from './finding.ts'
import type { Setup } from './setup.ts'

export interface ReportOptions {
  readonly setup: Setup
  readonly terminal: Terminal
}

const headings: Readonly<Record<Severity, string>> = { error: 'Errors', warning: 'Warnings', note: 'Notes' }
const colours: Readonly<Record<Severity, 'red' | 'yellow' | 'bold'>> = { error: 'red', warning: 'yellow', note: 'bold' }

export function renderText({ checks, findings }: Examination, { setup, terminal }: ReportOptions): string {
  const groups = severities.flatMap((severity) => {
    const found = findings.filter((finding) => finding.severity === severity)
    if (found.length === 0) return []
    const heading = paint(terminal, colours[severity], `${headings[severity]} (${found.length})`)
    return [[heading, ...found.map((finding) => renderFinding(finding, terminal))].join('\n')]
  })
  const when = setup.isBeforeStart ? ', before the start' : ''
  const node = `node ${setup.nodeName}, ${setup.config.mode} mode${when}`
  const verdict = findings.length === 0 ? 'nothing found' : countOf(findings)
  return `${[...groups, `${node}: ${checks.length} checks, ${verdict}`].join('\n\n')}\n`
}

function renderFinding({ name, what, evidence, fix }: Finding, terminal: Terminal): string {
  const columns = terminal.columns ?? Number.POSITIVE_INFINITY
  const part = (label: string, text: string) => {
    const lines = text.split('\n').flatMap((line) => breakWords(line, columns - indent))
    return `    ${label.padEnd(6)}${lines.join(`\n${' '.repeat(indent)}`)}`
  }
  const title = `  ${paint(terminal, 'bold', name)}`
  return [title, part('', what).replace(/^ {10}/, '    '), part('seen', evidence), part('fix', fix)].join('\n')
}

const indent = 10

function countOf(findings: readonly Finding[]): string {
  return severities
    .map((severity) => ({ severity, count: findings.filter((finding) => finding.severity === severity).length }))
    .filter(({ count }) => count > 0)
    .map(({ severity, count }) => `${count} ${severity}${count === 1 ? '' : 's'}`)
    .join(', ')
}

export function renderJson({ checks, findings }: Examination, { setup }: Pick<ReportOptions, 'setup'>): string {
  const { nodeName: node, config, isBeforeStart: beforeStart } = setup
  const count = (severity: Severity) => findings.filter((finding) => finding.severity === severity).length
  const counts = { errors: count('error'), warnings: count('warning'), notes: count('note') }
  return `${JSON.stringify({ node, mode: config.mode, beforeStart, ...counts, checks, findings }, undefined, 2)}\n`
}

import { expect, test } from 'vitest'
import type { SpanRecord } from '../../core/trace.ts'
import { shownSync } from '../../observe/tracing/shown-sync.ts'
import { memoryHost, memoryProgram } from '../host/testing/memory-host.ts'
import { CommandError } from '../program.ts'
import type { Terminal } from '../terminal.ts'
import { traceCommand } from './trace-command.ts'

let ids = 0
function span(name: string, startMs: number, durationMs: number, more: Partial<SpanRecord> = {}): SpanRecord {
  const context = { traceId: 'a'.repeat(32), spanId: String(++ids).padStart(16, '0') }
  return { name, context, links: [], startMs, durationMs, attributes: {}, children: [], ...more }
}

const noon = Date.UTC(2026, 10, 16, 12, 0, 0)

const quick = span('syncProxyRules', noon, 40, {
  attributes: { trigger: 'change', changes: 1, 'proxy.mode': 'nftables', 'network.type': 'ipv4' },
  links: [
    {
      context: { traceId: 'c'.repeat(32), spanId: 'd'.repeat(16) },
      attributes: {
        event: 'OnServiceUpdate',
        object: 'Service default/web',
        'k8s.resource_version': '17',
        received_ms: noon - 12.5,
      },
    },
  ],
  children: [
    span('plan', noon, 10, { attributes: { routes: 2 } }),
    span('apply', noon + 10, 30, {
      children: [span('commit', noon + 20, 0.25, { attributes: { bytes: 512 } })],
    }),
  ],
})

const failed = span('syncProxyRules', noon - 60_000, 2500, {
  attributes: { trigger: 'start', changes: 3, 'proxy.mode': 'nftables', 'network.type': 'ipv6' },
  error: 'nft refused\nthe batch',
})

const answer = { order: 'newest', syncs: [quick, failed].map(shownSync), start: span('createProxier', noon, 1) }

async function trace(args: readonly string[], stdout: Partial<Terminal> = {}, env: NodeJS.ProcessEnv = {}) {
  const program = memoryProgram(memoryHost({ env, files: { 'syncs.json': JSON.stringify(answer) } }))
  const shown = { ...program, stdout: { ...program.stdout, ...stdout } }
  const code = await traceCommand(['--from=syncs.json', ...args], shown, new AbortController().signal)
  expect(code).toBe(0)
  return program.printed()
}

test('lists the syncs and draws the first', async () => {
  expect(await trace([])).toBe(`#   STARTED        WAITED    TOOK    FAMILY   TRIGGER   CHANGES   CAUSE
1   12:00:00.000   12.5 ms   40 ms   ipv4     change    1         OnServiceUpdate Service default/web
2   11:59:00.000             2.5 s   ipv6     start     3         failed: nft refused the batch

syncProxyRules nftables ipv4, 2026-11-16T12:00:00.000Z, 40 ms, trace aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
caused by OnServiceUpdate Service default/web (version 17), 12.5 ms before

${bars}`)
})

const bars = `syncProxyRules   40 ms  ${'#'.repeat(76)}
  plan           10 ms  ${'#'.repeat(19)}
  apply          30 ms  ${' '.repeat(19)}${'#'.repeat(57)}
    commit      250 µs  ${' '.repeat(38)}#
`

test('a number asks for one alone', async () => {
  expect(await trace(['1'])).toContain(bars)
  expect(await trace(['1'])).not.toContain('STARTED')
})

test('the picture is as wide as the terminal, and of better bars where they can be shown', async () => {
  const text = await trace(['1'], { columns: 50 }, { LANG: 'de_DE.UTF-8' })
  expect(text).toContain(`apply          30 ms  ${' '.repeat(6)}${'█'.repeat(20)}\n`)
  for (const line of text.split('\n').slice(3)) expect(line.length).toBeLessThanOrEqual(50)
  expect(await trace(['1'], { columns: 50 }, { LANG: 'C' })).not.toContain('█')
})

test('a terminal without room for bars still shows names and times', async () => {
  expect(await trace(['1'], { columns: 30 })).toContain('  apply          30 ms\n')
})

test('attributes are shown on request, and what has failed always', async () => {
  expect(await trace(['1', '-a'])).toContain(`    commit      250 µs  ${' '.repeat(38)}#\n      bytes=512\n`)
  expect(await trace(['2'])).toContain('  failed: nft refused the batch\n')
})

test('the start is a picture too', async () => {
  expect(await trace(['start'])).toMatch(/^createProxier {2}1 ms {2}#+\n$/)
})

test('of one family', async () => {
  const text = await trace(['--family=ipv6'])
  expect(text).toContain('1   11:59:00.000')
  expect(text).not.toContain('12:00:00.000 ')
})

test('as JSON it is what the proxy says', async () => {
  expect(JSON.parse(await trace(['-o', 'json']))).toEqual(JSON.parse(JSON.stringify(answer)))
  expect(JSON.parse(await trace(['2', '-o', 'json']))).toMatchObject({
    family: 'ipv6',
    error: 'nft refused\nthe batch',
  })
})

test.each([
  [['first'], '"first" is no sync: give its number in the list, or "start"'],
  [['3'], 'there is no sync 3: the proxy remembers 2'],
  [['-n', '0'], '--number=0 is no number of syncs: give 1 or more'],
  [['--family=both'], '--family="both" is unknown: use ipv4 or ipv6, or leave it out'],
  [['--follow'], '--follow and --from contradict each other: a file has no news'],
  [['--from=none.json'], '--from=none.json cannot be read:'],
])('%j is refused', async (args, sentence) => {
  const error: unknown = await trace(args).catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(CommandError)
  expect(String(error)).toContain(sentence)
})

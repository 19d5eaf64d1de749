import { expect, test } from 'vitest'
import { inGroup } from './flag.ts'
import { renderFlagHelp } from './flag-help.ts'
import { parseFlags } from './flag-set.ts'
import * as type from './flag-types.ts'

const table = {
  ...inGroup('Ship', {
    anchor: { type: type.bool, default: false, help: 'Drop the anchor.' },
    'port-side': { type: type.text, default: 'left', help: 'Which side port is.' },
    crew: { type: type.strings, default: ['cook'], help: 'Who is on board.' },
    knots: { type: type.int32, short: 'k', default: 0, help: 'Speed.' },
    quiet: { type: type.bool, short: 'q', default: false, help: 'No horn.' },
  }),
  ...inGroup('Harbour', {
    'sail-only': { type: type.bool, default: false, help: 'Old.', deprecated: 'use --knots=0 instead.' },
    'berth-fee': { type: type.duration, default: 90_000, help: 'How long.', platform: 'win32' },
  }),
} as const

test('values come after = or as the next argument', () => {
  expect(read('--port-side=right', '--knots', '7').values).toMatchObject({ 'port-side': 'right', knots: 7 })
  expect(read('--port-side=').values['port-side']).toBe('')
  expect(read('--port-side=a=b').values['port-side']).toBe('a=b')
})

test('a bool needs no value, and takes one only after =', () => {
  expect(read('--anchor').values.anchor).toBe(true)
  expect(read('--anchor=false').values.anchor).toBe(false)
  expect(read('--anchor', 'aft')).toMatchObject({ values: { anchor: true }, positionals: ['aft'] })
  expect(parseFlags(table, ['--anchor', 'false'], 'linux')).toEqual({
    ok: false,
    problem: '--anchor takes its value after "=": write --anchor=false',
  })
})

test('short flags take their value in every form and can be joined', () => {
  for (const args of [['-k7'], ['-k=7'], ['-k', '7'], ['-qk7'], ['-qk', '7']])
    expect(read(...args).values.knots).toBe(7)
  expect(read('-qk7').values.quiet).toBe(true)
  expect(read('-q=false').values.quiet).toBe(false)
})

test('a list replaces its default at first use and grows after that', () => {
  expect(read().values.crew).toEqual(['cook'])
  expect(read('--crew=a,b', '--crew', 'c').values.crew).toEqual(['a', 'b', 'c'])
  expect(read('--crew=').values.crew).toEqual([])
})

test('_ in a flag name is -', () => {
  expect(read('--port_side=x').values['port-side']).toBe('x')
})

test('only flags that were on the command line count as given', () => {
  expect([...read('--knots=0').given]).toEqual(['knots'])
})

test('after -- nothing is a flag, and a lone - is an argument', () => {
  expect(read('a', '-', '--', '--anchor').positionals).toEqual(['a', '-', '--anchor'])
})

test('the first problem ends the reading and names the flag', () => {
  expect(problem('--knots')).toBe('flag needs an argument: --knots int32')
  expect(problem('-k')).toBe('flag needs an argument: --knots int32')
  expect(problem('--knots=fast')).toMatch(/^invalid argument "fast" for "--knots" flag: "fast" is not a whole number/)
  expect(problem('--ancor')).toBe('unknown flag: --ancor, did you mean --anchor?')
  expect(problem('--zzzzzzzz')).toBe('unknown flag: --zzzzzzzz (see --help for the known ones)')
  expect(problem('-x')).toBe("unknown shorthand flag: 'x' in -x")
  expect(problem('--=x')).toBe('bad flag syntax: --=x')
  expect(problem('--berth-fee=1s')).toBe('unknown flag: --berth-fee exists on win32 only: remove it on linux')
})

test('a deprecated flag warns once, however often it is used', () => {
  expect(read('--sail-only', '--sail-only').warnings).toEqual([
    'Flag --sail-only has been deprecated, use --knots=0 instead.',
  ])
})

test('--help and -h are known without being declared', () => {
  expect(read('--help').wantsHelp).toBe(true)
  expect(read('-qh').wantsHelp).toBe(true)
  expect(read().wantsHelp).toBe(false)
})

test('help lists groups, values and defaults, but no deprecated flag and none of another platform', () => {
  expect(renderFlagHelp(table, 'linux')).toBe(
    `Ship:
      --anchor             Drop the anchor.
      --port-side string   Which side port is. (default "left")
      --crew strings       Who is on board. (default [cook])
  -k, --knots int32        Speed.
  -q, --quiet              No horn.

  -h, --help               Print this text and exit.
`,
  )
  expect(renderFlagHelp(table, 'win32')).toContain('Harbour:\n      --berth-fee duration   How long. (default 1m30s)\n')
})

function read(...args: string[]) {
  const result = parseFlags(table, args, 'linux')
  if (!result.ok) throw new Error(result.problem)
  return result
}

function problem(...args: string[]): string {
  const result = parseFlags(table, args, 'linux')
  return result.ok ? 'none' : result.problem
}

import { readdir } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { TemporaryFolder } from '../../src/sources/kube/testing/temporary-folder.ts'
import { eventually } from './testing/eventually.ts'
import { runFairlead } from './testing/fairlead-process.ts'
import { PseudoTerminal, whyNoTerminal } from './testing/pseudo-terminal.ts'

const reason = whyNoTerminal === undefined ? '' : ` (skipped: ${whyNoTerminal})`
const columns = 80
const bold = '\u001B[1m'
const red = '\u001B[31m'

describe.skipIf(whyNoTerminal !== undefined)(`on a terminal${reason}`, () => {
  test('the demo shows that it starts, and then a table that fits', async () => {
    await using folder = await TemporaryFolder.make()
    await using terminal = new PseudoTerminal(['demo', '--api-port=0'], { columns, env: { TMPDIR: folder.path } })
    await terminal.says('Stop with Ctrl-C.')
    expect(terminal.raw).toContain('\r\u001B[K| starting the demo')
    expect(terminal.raw).toContain(`${bold}SERVICE`)
    const table = terminal.lines.slice(terminal.lines.findIndex((line) => line.startsWith('SERVICE')))
    const shop = table.filter((line) => line.startsWith('shop/web:http '))
    expect(shop).toEqual([expect.stringMatching(/^shop\/web:http +curl http:\/\/127\.0\.0\.1:\d+ +127\.0\.0\.1:\d+,$/)])
    for (const line of table.filter((candidate) => !candidate.includes(folder.path)))
      expect(line.length).toBeLessThanOrEqual(columns)
  })

  test('a demo whose terminal is closed leaves nothing behind', async () => {
    await using folder = await TemporaryFolder.make()
    await using terminal = new PseudoTerminal(['demo', '--api-port=0'], { columns, env: { TMPDIR: folder.path } })
    await terminal.says('Stop with Ctrl-C.')
    expect(await readdir(folder.path)).toHaveLength(1)
    await terminal.close()
    await eventually(async () => expect(await readdir(folder.path)).toEqual([]))
  })

  test.each([{ args: ['--help'] }, { args: ['render', '--help'] }, { args: ['demo', '--help'] }])(
    '$args fits',
    async ({ args }) => {
      await using terminal = new PseudoTerminal(args, { columns })
      await terminal.ended()
      expect(terminal.raw).toContain('--help')
      for (const line of terminal.lines) expect(line.length).toBeLessThanOrEqual(columns)
    },
  )

  test('an error is red, but not with NO_COLOR', async () => {
    for (const [env, start] of [
      [{}, `${red}Error:`],
      [{ NO_COLOR: '1' }, 'Error:'],
    ] as const) {
      await using terminal = new PseudoTerminal(['demmo'], { columns, env })
      await terminal.ended()
      expect(terminal.raw.startsWith(start)).toBe(true)
    }
  })

  test('render shows what it does, and takes that line away', async () => {
    const objects = new URL('../goldens/cluster-ip/objects.json', import.meta.url).pathname
    await using terminal = new PseudoTerminal(['render', '--proxy-mode=nftables', `--objects=${objects}`], { columns })
    await terminal.ended()
    expect(terminal.raw).toContain('| reading objects')
    expect(terminal.raw).toContain(' rendering ipv6')
    expect(terminal.lines.join('\n')).not.toMatch(/reading objects|rendering ipv/)
    expect(terminal.lines[0]).toBe('# ipv4, part nftables')
  })
})

test('in a pipe there is neither colour nor a line that moves', async () => {
  const { stdout, stderr } = await runFairlead(['demmo'])
  const rendered = await runFairlead(['render', '--proxy-mode=nftables', '--objects=-'], { stdin: '' })
  for (const text of [stdout, stderr, rendered.stdout, rendered.stderr]) {
    expect(text).not.toContain('\u001B')
    expect(text).not.toContain('\r')
  }
})

/** The completions, as the real shells see them. */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { TemporaryFolder } from '../../sources/kube/testing/temporary-folder.ts'
import { commandShapes, daemonShape, shownFlags } from './command-shapes.ts'
import { completionScript } from './completion-script.ts'
import { shells } from './shells.ts'
import type { Shell } from './shells.ts'

/** What somebody has typed, and what the shell makes of it when there is only one way to go on. */
const typed: readonly (readonly [string, string])[] = [
  ['fairlead ren', 'render'],
  ['fairlead --proxy-m', '--proxy-mode='],
  ['fairlead --proxy-mode=nf', 'nftables'],
  ['fairlead render --proxy-mode=nf', 'nftables'],
  ['fairlead doctor --fail-on=w', 'warning'],
  // Flags of the daemon.
  ['fairlead doctor --userspace-engine=na', 'native'],
  ['fairlead api to-nf', 'to-nftables'],
  ['fairlead help expl', 'explain'],
  ['fairlead completion z', 'zsh'],
]

const complete: Readonly<Record<Shell, (script: string) => Promise<readonly string[]>>> = {
  async bash(script) {
    await using folder = await TemporaryFolder.make()
    const file = await folder.write('fairlead', script)
    const lines = typed.map(([line]) => {
      // bash hands over "=" as a word of its own.
      const words = line.split(/(=)| /).filter((word) => word !== undefined)
      return `COMP_WORDS=(${words.join(' ')}) COMP_CWORD=${words.length - 1}; _fairlead; echo "\${COMPREPLY[*]}"`
    })
    return output('bash', ['--norc', '-c', `source ${file}\n${lines.join('\n')}`])
  },
  async fish(script) {
    await using folder = await TemporaryFolder.make()
    const file = await folder.write('fairlead.fish', script)
    const lines = typed.map(([line]) => `complete -C '${line}' | string split -f 1 \\t | string join ' '`)
    const found = output('fish', ['--no-config', '-c', `source ${file}\n${lines.join('\n')}\ntrue`])
    // fish repeats the flag before the value, and sets "=" itself.
    return found.map((word, index) =>
      typed[index]?.[1].endsWith('=') === true ? `${word}=` : word.replace(/^--.*=/, ''),
    )
  },
  async zsh(script) {
    await using folder = await TemporaryFolder.make()
    await folder.write('_fairlead', script)
    const driver = fileURLToPath(new URL('testing/type-in-zsh.zsh', import.meta.url))
    const found = output('zsh', ['-f', driver, folder.path, ...typed.map(([line]) => line)])
    return found.map((line) =>
      line
        .trimEnd()
        .replace(/^.* /, '')
        .replace(/^--.*=(?=.)/, ''),
    )
  },
}

for (const shell of shells) {
  const isHere = spawnSync(shell, ['-c', 'true']).status === 0
  describe.skipIf(!isHere)(`${shell}${isHere ? '' : ' (not installed)'}`, () => {
    test('completes commands, flags, values and arguments', async () => {
      expect(await complete[shell](completionScript(shell))).toEqual(typed.map(([, word]) => word))
    })
  })
}

test.each(shells)('the script for %s has every command, and every flag that the help shows', (shell) => {
  const script = completionScript(shell)
  for (const name of commandShapes.keys()) expect(script).toContain(name)
  for (const shape of [daemonShape, ...commandShapes.values()])
    for (const { name } of shownFlags(shape).filter((flag) => flag.name.length > 1))
      expect(script).toMatch(new RegExp(shell === 'fish' ? ` -l ${name} ` : `--${name}\\b`))
})

function output(program: string, args: readonly string[]): readonly string[] {
  const { status, stdout, stderr } = spawnSync(program, args, {
    encoding: 'utf8',
    env: { PATH: process.env['PATH'], HOME: '/nonexistent', TERM: 'dumb' },
  })
  expect([status, stderr]).toEqual([0, ''])
  return stdout.split('\n').slice(0, -1)
}

/**
 * Every README below examples/ does what it says: each block of shell commands is run, line by line, on a copy. A block
 * that names what it `# says:` runs on, as in a terminal of its own; any other must end well.
 */
import { spawn, spawnSync } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { TemporaryFolder } from '../src/sources/kube/testing/temporary-folder.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const readmes = readdirSync(join(root, 'examples'), { recursive: true, encoding: 'utf8' })
  .filter((path) => /(?:^|\/)README\.md$/.test(path) && !path.includes('node_modules'))
  .sort()

test('there are READMEs to follow', () => expect(readmes).toContain('go-backend/README.md'))

for (const readme of readmes) {
  const blocks = blocksOf(readme)
  const missing = [...new Set(blocks.flatMap(({ commands }) => commands))].filter((command) => !isHere(command))
  const note = missing.length === 0 ? '' : ` [skipped: there is no ${missing.join(', no ')}]`
  test.skipIf(missing.length > 0)(`examples/${readme} can be followed${note}`, { timeout: 600_000 }, async () => {
    await using copy = await Copy.make()
    // A page in a folder builds on the core that the first page starts.
    const [core] = blocksOf('README.md')
    if (core !== undefined && readme !== 'README.md') await copy.run(core)
    for (const block of blocks) expect(await copy.run(block)).toContain(block.says ?? '')
  })
}

interface Block {
  readonly script: string
  /** Relative to the copy: pages that write `examples/…` mean the folder above. */
  readonly folder: string
  /** What it says while it runs; undefined: it ends. */
  readonly says: string | undefined
  readonly commands: readonly string[]
}

function blocksOf(readme: string): readonly Block[] {
  const page = readFileSync(join(root, 'examples', readme), 'utf8')
  return [...page.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, script = '']) => ({
    script,
    folder: /(?:^|[\s/=])examples\//.test(script) ? '.' : join('examples', dirname(readme)),
    says: /# says: (.*)$/m.exec(script)?.[1],
    commands: script.split('\n').flatMap((line) => /^(?:\w+=\S*\s+)*([\w-]+)(?:\s|$)/.exec(line)?.[1] ?? []),
  }))
}

function isHere(command: string): boolean {
  return command === 'fairlead' || spawnSync('which', [command]).status === 0
}

/** What somebody has who got Fairlead: examples, the library, and its commands on the path. */
class Copy implements AsyncDisposable {
  readonly #folder: TemporaryFolder
  readonly #processes: ChildProcess[] = []

  private constructor(folder: TemporaryFolder) {
    this.#folder = folder
  }

  static async make(): Promise<Copy> {
    const folder = await TemporaryFolder.make()
    const at = (...path: string[]) => join(folder.path, ...path)
    cpSync(join(root, 'examples'), at('examples'), { recursive: true })
    cpSync(join(root, 'package.json'), at('package.json'))
    cpSync(join(root, 'src/kpng/proto'), at('src/kpng/proto'), { recursive: true })
    for (const name of ['node_modules', 'dist']) symlinkSync(join(root, name), at(name))
    mkdirSync(at('bin'))
    writeFileSync(at('bin/fairlead'), `#!/bin/sh\nexec '${process.execPath}' '${root}bin/fairlead.js' "$@"\n`)
    chmodSync(at('bin/fairlead'), 0o755)
    return new Copy(folder)
  }

  /** What it has written by then. */
  run({ script, folder, says }: Block): Promise<string> {
    const { NODE_OPTIONS: _options, NODE_ENV: _env, ...env } = process.env
    const bin = join(this.#folder.path, 'bin')
    const child = spawn('sh', ['-eu', '-c', script], {
      cwd: join(this.#folder.path, folder),
      env: { ...env, PATH: `${bin}:${env['PATH']}` },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true, // a group of its own, so that all of it can be ended
    })
    this.#processes.push(child)
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => (output += text))
    return new Promise((resolve, reject) => {
      const hasSaid = () => says !== undefined && output.includes(says) && resolve(output)
      child.stdout.on('data', hasSaid)
      child.stderr.on('data', hasSaid)
      child.on('error', reject)
      child.on('close', (code) => {
        if (says === undefined && code === 0) resolve(output)
        else reject(new Error(`it ended with ${code}:\n${script}\nand wrote:\n${output}`))
      })
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#processes.reverse()) {
      if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) continue
      const closed = new Promise((resolve) => child.once('close', resolve))
      process.kill(-child.pid, 'SIGKILL')
      await closed
    }
    await this.#folder[Symbol.asyncDispose]()
  }
}

import { spawn, spawnSync } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const program = fileURLToPath(new URL('testing/crash-server.ts', import.meta.url))
/** Runs a program in a mount namespace of its own. */
const ownMounts: string = 'unshare'
const services = '/api/v1/namespaces/default/services'

type State = { readonly state: 'there'; readonly label: string } | { readonly state: 'gone' }

interface Step {
  readonly method: string
  readonly path: string
  readonly type: string
  readonly body: object
  readonly after: State
}

/** What the server has acknowledged for each name, unless an answer is outstanding. */
type Acknowledged = Map<string, State | undefined>

test('nothing that was acknowledged is lost when the server is killed under load, again and again', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'fairlead-crash-'))
  const acknowledged: Acknowledged = new Map()
  let writes = 0
  try {
    for (let round = 0; round < 4; round++) {
      await using server = await startServer(dataDir)
      expect(await lostIn(server.url, acknowledged)).toEqual([])
      const writers = Array.from({ length: 8 }, (_, writer) =>
        writeUntilKilled(server.url, `r${round}-w${writer}`, acknowledged, () => {
          // Killed by a count of answers, not by a clock, so that the server is always in the middle of something.
          if (++writes % 150 === 0) server.process.kill('SIGKILL')
        }),
      )
      await Promise.all(writers)
      await server.exited
    }
    await using server = await startServer(dataDir)
    expect(await lostIn(server.url, acknowledged)).toEqual([])
  } finally {
    await rm(dataDir, { recursive: true, force: true })
  }
})

test.skipIf(!canMount())(
  'a full disk refuses writes with 507 and keeps what it has acknowledged (needs unshare)',
  async () => {
    const directory = await mkdtemp(join(tmpdir(), 'fairlead-full-'))
    try {
      // The small disk exists in the server's own mount namespace only.
      const script = 'mount -t tmpfs -o size=300k tmpfs "$1" && exec "$2" --import tsx "$3" "$1/data"'
      await using server = await startProcess(ownMounts, [
        '-rm',
        'sh',
        '-c',
        script,
        'sh',
        directory,
        process.execPath,
        program,
      ])
      const acknowledged: Acknowledged = new Map()
      for (let index = 0; ; index++) {
        const metadata = { name: `s${index}`, annotations: { note: 'x'.repeat(5000) } }
        const body = { apiVersion: 'v1', kind: 'Service', metadata, spec: { ports: [{ port: 80 }] } }
        const headers = { 'content-type': 'application/json' }
        const answer = await fetch(server.url + services, { method: 'POST', headers, body: JSON.stringify(body) })
        const { reason } = (await answer.json()) as { reason?: string }
        acknowledged.set(metadata.name, answer.ok ? { state: 'there', label: '' } : { state: 'gone' })
        if (answer.ok && index < 1000) continue
        expect([answer.status, reason]).toEqual([507, 'InsufficientStorage'])
        break
      }
      expect(acknowledged.size).toBeGreaterThan(5)
      expect(await lostIn(server.url, acknowledged)).toEqual([])
    } finally {
      await rm(directory, { recursive: true, force: true })
    }
  },
)

function canMount(): boolean {
  return spawnSync(ownMounts, ['-rm', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']).status === 0
}

function startServer(dataDir: string) {
  return startProcess(process.execPath, ['--import', 'tsx', program, dataDir])
}

async function startProcess(command: string, args: readonly string[]) {
  const child: ChildProcess = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const exited = once(child, 'exit')
  const [line] = (await Promise.race([
    once(child.stdout ?? child, 'data'),
    exited.then(() => Promise.reject(new Error('the server ended before it listened'))),
  ])) as [Buffer]
  return {
    url: line.toString().trim(),
    process: child,
    exited,
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await exited
    },
  }
}

/** Creates, changes and deletes Services until the server is killed. */
async function writeUntilKilled(url: string, prefix: string, acknowledged: Acknowledged, onAnswer: () => void) {
  for (let index = 0; ; index++) {
    const name = `${prefix}-${index}`
    const body = { apiVersion: 'v1', kind: 'Service', metadata: { name }, spec: { ports: [{ port: 80 }] } }
    const patch = { metadata: { labels: { round: prefix } } }
    const steps: Step[] = [
      { method: 'POST', path: services, type: 'application/json', body, after: { state: 'there', label: '' } },
      {
        method: 'PATCH',
        path: `${services}/${name}`,
        type: 'application/merge-patch+json',
        body: patch,
        after: { state: 'there', label: prefix },
      },
    ]
    if (index % 2 === 0)
      steps.push({
        method: 'DELETE',
        path: `${services}/${name}`,
        type: 'application/json',
        body: {},
        after: { state: 'gone' },
      })
    for (const { method, path, type, body: json, after } of steps) {
      acknowledged.set(name, undefined)
      try {
        const answer = await fetch(url + path, {
          method,
          headers: { 'content-type': type },
          body: JSON.stringify(json),
        })
        // An answer counts once all of it has arrived.
        await answer.text()
        if (!answer.ok) throw new Error(`${method} ${path} got ${answer.status}`)
      } catch (error) {
        if (error instanceof TypeError) return
        throw error
      }
      acknowledged.set(name, after)
      onAnswer()
    }
  }
}

/** Names whose acknowledged state differs from what the server has. */
async function lostIn(url: string, acknowledged: Acknowledged): Promise<string[]> {
  const answer = await fetch(url + services)
  const list = (await answer.json()) as { items: { metadata: { name: string; labels?: { round?: string } } }[] }
  const labelsByName = new Map(list.items.map(({ metadata }) => [metadata.name, metadata.labels?.round ?? '']))
  const lost = [...acknowledged].filter(([name, expected]) => {
    if (expected === undefined) return false
    return expected.state === 'there' ? labelsByName.get(name) !== expected.label : labelsByName.has(name)
  })
  return lost.map(([name]) => name)
}

/** The sample manifests do what their README and the docs say. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { thisHost } from '../src/cli/host/this-host.ts'
import type { Program } from '../src/cli/program.ts'
import { renderCommand } from '../src/cli/render-command.ts'
import { unwatched } from '../src/cli/program.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const manifests = join(root, 'examples/manifests/cluster')

async function render(mode: string): Promise<{ readonly out: string; readonly err: string }> {
  let [out, err] = ['', '']
  const program: Program = {
    ...unwatched,
    host: { ...thisHost(), platform: 'linux', env: {} },
    out: (text) => void (out += text),
    err: (text) => void (err += text),
  }
  const flags = [`--proxy-mode=${mode}`, `--objects=${manifests}`, '--node-name=node1', '--family=ipv4']
  expect(await renderCommand(flags, program)).toBe(0)
  return { out, err }
}

test.each(['nftables', 'iptables', 'ipvs', 'userspace'])('they render in mode %s without a warning', async (mode) => {
  const { out, err } = await render(mode)
  expect(err).not.toMatch(/warning|error/)
  expect(err).toMatch(/note: Service has no cluster IP in its manifest and gets one service="default\/database"/)
  const wanted =
    mode === 'userspace' ? ['10.96.0.20', '10.96.0.30'] : ['10.96.0.20', '10.64.1.5', '198.51.100.10', '203.0.113.40']
  for (const address of wanted) expect(out).toContain(address)
})

test('their README names each of them', () => {
  const readme = readFileSync(join(manifests, 'README.md'), 'utf8')
  const named = Array.from(readme.matchAll(/^\| `(\S+\.yaml)`/gm), ([, name = '']) => name)
  const files = readdirSync(manifests).filter((name) => name.endsWith('.yaml'))
  expect(named.toSorted()).toEqual(files.toSorted())
})

test('the docs lead to them', () => {
  for (const page of ['docs/files.md', 'docs/nftables.md'])
    expect(readFileSync(join(root, page), 'utf8')).toContain('--objects=examples/manifests/cluster')
})

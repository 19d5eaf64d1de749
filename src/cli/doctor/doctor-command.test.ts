/** The command on machines that are not there. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { systemClock } from '../../core/clock.ts'
import { MemoryDriver } from '../../dataplane/hcn/memory/memory-driver.ts'
import { MemoryHns } from '../../dataplane/hcn/memory/memory-hns.ts'
import { memoryHost, memoryProgram } from '../host/testing/memory-host.ts'
import type { MemoryHostOptions } from '../host/testing/memory-host.ts'
import { doctorCommand } from './doctor-command.ts'
import type { Finding } from './finding.ts'

const never = new AbortController().signal
let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'fairlead-doctor-'))
  await writeFile(join(folder, 'objects.json'), '{"apiVersion":"v1","kind":"List","items":[]}')
})
afterAll(() => rm(folder, { recursive: true }))

async function run(argv: readonly string[], options: MemoryHostOptions = {}) {
  const program = memoryProgram(memoryHost({ clock: systemClock, ...options }))
  const code = await doctorCommand(argv, program, never)
  return { code, printed: program.printed() }
}

async function findings(argv: readonly string[], options: MemoryHostOptions = {}): Promise<readonly Finding[]> {
  const { printed } = await run(['-o', 'json', `--objects=${folder}/objects.json`, ...argv], options)
  return (JSON.parse(printed) as { readonly findings: readonly Finding[] }).findings
}

test('on a machine that shows nothing, every check that could not look says so by its name', async () => {
  const found = await findings(['--before-start', '--proxy-mode=nftables'])
  const blind = found.filter(({ name }) => name === 'not-checked').map(({ check }) => check)
  expect(blind).toEqual(expect.arrayContaining(['capabilities', 'forwarding', 'conntrack', 'foreign-rules']))
  expect(found.map(({ name }) => name)).toContain('nft-unusable')
})

describe('the exit code', () => {
  test.each([
    ['--fail-on=error', 1],
    ['--fail-on=warning', 1],
    ['--fail-on=never', 0],
  ])('is as %s says', async (flag, expected) => {
    const argv = ['--before-start', '--proxy-mode=nftables', `--objects=${folder}/objects.json`, flag]
    expect((await run(argv)).code).toBe(expected)
  })

  test('is 0 with warnings only, unless --fail-on=warning', async () => {
    // As a user who may not look at anything of the kernel.
    const user = { process: { isRoot: false, openFilesLimit: () => Promise.resolve(1_000_000) } }
    const argv = ['--before-start', '--proxy-mode=userspace', `--objects=${folder}/objects.json`]
    const { code, printed } = await run(argv, user)
    expect(printed).toMatch(/Warnings \(\d+\)\n {2}not-checked\n/)
    expect(code).toBe(0)
    expect((await run([...argv, '--fail-on=warning'], user)).code).toBe(1)
  })
})

test('the command line of another process does not steer the terminal', async () => {
  const args = ['kube-proxy', '\u001B]0;owned\u0007']
  const processes = () => Promise.resolve([{ pid: 7, parentPid: 1, args, isTrusted: false, sockets: undefined }])
  const argv = ['--before-start', '--proxy-mode=userspace', `--objects=${folder}/objects.json`]
  const { printed } = await run(argv, { processes })
  expect(printed).toContain(String.raw`process 7: kube-proxy \u001b]0;owned\u0007`)
})

test('a flag that is none is refused', async () => {
  await expect(run(['--before-strat'])).rejects.toThrow('--before-start')
  await expect(run(['--fail-on=note'])).rejects.toThrow('fail-on')
})

test('on Windows, HNS, folders and the way to the cluster are looked at, and nothing of Linux', async () => {
  const windows = {
    platform: 'win32',
    openHcn: () => Promise.resolve(new MemoryDriver(new MemoryHns())),
    process: { isRoot: false },
  } as const
  const found = await findings(['--before-start', '--network-name=pod-net'], windows)
  expect(found.map(({ name }) => name)).toEqual(['not-administrator', 'hns-network-missing'])
})

/** Settings that appear when the kernel loads nf_conntrack. */
import { expect, test } from 'vitest'
import type { Exec } from '../../dataplane/exec/exec.ts'
import { MemorySysctl } from '../../dataplane/sysctl/memory-sysctl.ts'
import { SysctlError } from '../../dataplane/sysctl/sysctl.ts'
import { memoryHost } from '../host/testing/memory-host.ts'
import type { LateSettingsParts } from './machine-settings.ts'
import { applyConntrackSettings, lateSettings } from './machine-settings.ts'
import { memoryDaemon } from './testing/memory-daemon.ts'

const max = 'net/netfilter/nf_conntrack_max'
const flags = ['--conntrack-tcp-timeout-established=0s', '--conntrack-tcp-timeout-close-wait=0s']
const unwritten = (reason: SysctlError['reason']) => ({
  what: 'setting' as const,
  option: 'maxPerCore' as const,
  path: `/proc/sys/${max}`,
  is: undefined,
  wanted: '1',
  error: new SysctlError(reason, reason),
})
const never = new AbortController().signal

async function given(sysctl: MemorySysctl) {
  const moduleParameters = new MemorySysctl({ 'nf_conntrack/parameters/hashsize': '1000000' })
  const host = memoryHost({ sysctl, moduleParameters })
  const daemon = await memoryDaemon({ flags, host })
  const ready = new AbortController()
  const context = { host, log: daemon.log } as unknown as LateSettingsParts['prepared']['context']
  const mode = { tracksConnections: true } as unknown as LateSettingsParts['prepared']['mode']
  return { daemon, ready, parts: { daemon, prepared: { mode, context }, readiness: { ready: ready.signal } } }
}

test('are written after the first sync, not before', async () => {
  const sysctl = new MemorySysctl({ [max]: '65536' })
  const { ready, parts } = await given(sysctl)
  const [late] = lateSettings([unwritten('not-found')], parts)
  const done = late?.run(never)
  await new Promise((resolve) => setImmediate(resolve))
  expect(sysctl.writes).toEqual([])
  ready.abort()
  await done
  expect(sysctl.writes).toEqual([`${max}=131072`])
})

test('in a container that may not write them, it is a warning', async () => {
  const sysctl = new MemorySysctl({ [max]: '65536' })
  sysctl.refuseWith = 'read-only'
  const { daemon, ready, parts } = await given(sysctl)
  ready.abort()
  await lateSettings([unwritten('not-found')], parts)[0]?.run(never)
  expect(daemon.log.at('warn').map(({ fields }) => fields)).toMatchObject([{ is: '65536', wanted: '131072' }])
})

test('a refusal of the kernel is a warning, too: the proxy runs', async () => {
  const sysctl = new MemorySysctl({ [max]: '65536' })
  sysctl.refuseWith = 'not-permitted'
  const { daemon, ready, parts } = await given(sysctl)
  ready.abort()
  await lateSettings([unwritten('not-found')], parts)[0]?.run(never)
  expect(daemon.log.at('warn')).toHaveLength(1)
})

test('a setting that was there, and read-only, is not tried again', async () => {
  const { parts } = await given(new MemorySysctl({}))
  expect(lateSettings([unwritten('read-only')], parts)).toEqual([])
})

test('on a node that has just booted, a look at its connections has the kernel load what is missing', async () => {
  const booted = new MemorySysctl({ [max]: '65536' })
  let isLoaded = false
  const sysctl = new MemorySysctl({})
  sysctl.read = async (path) => (isLoaded ? booted.read(path) : undefined)
  sysctl.write = async (path, value) => (isLoaded ? booted : new MemorySysctl({})).write(path, value)
  const { daemon, parts } = await given(sysctl)
  const exec: Exec = async (program, args) => {
    isLoaded = program === 'conntrack' && args[0] === '-L'
    return { exitCode: 0, signal: null, stdout: '', stderr: '' }
  }
  const host = { ...parts.prepared.context.host, exec }
  const { mode } = parts.prepared
  expect(await applyConntrackSettings(mode, daemon.running.config, { host, log: daemon.log })).toEqual([])
  expect(booted.writes).toEqual([`${max}=131072`])
})

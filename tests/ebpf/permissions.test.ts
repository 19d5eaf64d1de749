/** Which rights the programs need, and what somebody reads who has not given them. */
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { builtObject, missingForObject } from '../../src/backends/ebpf/testing/built-object.ts'
import { missingForBpf } from '../../src/dataplane/ebpf/testing/kernel-site.ts'
import { missingPrograms } from '../packet/testing/iptables-variant.ts'
import { describeUnless } from '../packet/testing/proxies.ts'

const program = fileURLToPath(new URL('./testing/load-programs.ts', import.meta.url))
const problem =
  (missingForObject === '' ? undefined : `not found: ${missingForObject}`) ??
  missingPrograms('setpriv') ??
  (await missingForBpf())

describeUnless(problem, 'rights for programs', () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'fairlead-test-permissions-'))
    await writeFile(join(folder, 'object'), await builtObject())
  })
  afterAll(() => rm(folder, { recursive: true }))

  const outcomesWith = async (...capabilities: readonly string[]): Promise<Record<string, string>> => {
    const set = ['-all', ...capabilities.map((name) => `+${name}`)].join(',')
    return outcomesBy(`--bounding-set=${set}`, `--inh-caps=${set}`)
  }
  const outcomesBy = async (...rights: readonly string[]): Promise<Record<string, string>> => {
    const node = [process.execPath, '--import', 'tsx', program, join(folder, 'object')]
    const { stdout } = await promisify(execFile)('setpriv', [...rights, '--', ...node])
    return JSON.parse(stdout) as Record<string, string>
  }

  test('none: nothing is possible, and the message names all', async () => {
    const outcomes = await outcomesWith()
    expect(Object.keys(outcomes)).toEqual(['maps'])
    expect(outcomes['maps']).toMatch(/^not-permitted: .*CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON/)
  })

  test('CAP_BPF and CAP_NET_ADMIN: the maps are made, and the message names the one that the programs need', async () => {
    const { maps, ...programs } = await outcomesWith('bpf', 'net_admin')
    expect(maps).toBe('taken')
    expect(programs['cgroup/sendmsg4']).toMatch(/^not-permitted: .*give the container CAP_PERFMON/)
    expect(programs['iter/bpf_sk_storage_map']).toMatch(/^not-permitted: .*CAP_PERFMON/)
  })

  // Some kernels lack a program whatever the rights are.
  let everything: Record<string, string>
  beforeAll(async () => void (everything = await outcomesBy('--bounding-set=+all')))

  test.each([{ capabilities: ['bpf', 'net_admin', 'perfmon'] }, { capabilities: ['sys_admin', 'net_admin'] }])(
    'enough for everything: $capabilities',
    async ({ capabilities }) => {
      const outcomes = await outcomesWith(...capabilities)
      const taken = (what: Record<string, string>) => Object.keys(what).filter((name) => what[name] === 'taken')
      expect(taken(outcomes)).toEqual(taken(everything))
      expect(taken(outcomes).length).toBeGreaterThan(8)
      expect(Object.values(outcomes).join('\n')).not.toContain('not-permitted')
    },
  )
})

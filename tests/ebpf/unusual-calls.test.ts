/** Programs that use the kernel's less known calls. */
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { missingPrograms } from '../packet/testing/iptables-variant.ts'
import { ClientSocket } from './testing/client-socket.ts'
import { serverPlaces } from './testing/lab.ts'
import { describeSockets } from './testing/socket-lab.ts'

const source = fileURLToPath(new URL('./testing/unusual-calls.c', import.meta.url))
const [first] = serverPlaces.ipv4
const problem = missingPrograms('cc')
const skipped = problem === undefined ? '' : ` (${problem})`

await describeSockets('unusual calls', ({ hooks, nodes }) => {
  const { pod } = nodes
  let folder = ''
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'fairlead-unusual-calls-'))
    if (problem === undefined) execFileSync('cc', ['-Wall', '-Werror', '-o', join(folder, 'calls'), source])
  })
  afterAll(() => rmSync(folder, { recursive: true }))

  const call = async (kind: string, ip: string, port: number): Promise<readonly string[]> => {
    const program = pod.start(join(folder, 'calls'), [kind, ip, String(port)], process.env)
    const [output, complaints] = await Promise.all([text(program.stdout), text(program.stderr), once(program, 'close')])
    expect(complaints).toBe('')
    return output.trimEnd().split('\n')
  }

  const ringProblem = problem ?? ioUringProblem()
  const ringSkipped = ringProblem === undefined ? '' : ` (${ringProblem})`

  test.skipIf(ringProblem !== undefined)(`a connection by io_uring reaches an endpoint${ringSkipped}`, async () => {
    const served = await hooks.serve({ at: ['tcp 10.96.0.1:80'], internal: [first] })
    expect(await call('io_uring', '10.96.0.1', 80)).toEqual(['0', '10.96.0.1:80'])
    expect(served.picked(first)).toEqual([1])
  })

  test.skipIf(ringProblem !== undefined)(`so does one by a thread of the kernel${ringSkipped}`, async () => {
    const served = await hooks.serve({ at: ['tcp 10.96.0.1:80'], internal: [first] })
    expect(await call('sqpoll', '10.96.0.1', 80)).toEqual(['0', '10.96.0.1:80'])
    expect(served.picked(first)).toEqual([1])
  })

  test.skipIf(problem !== undefined)(`many datagrams in one call are one flow${skipped}`, async () => {
    const served = await hooks.serve({ at: ['udp 10.96.0.1:53'], internal: serverPlaces.ipv4 })
    expect(await call('many', '10.96.0.1', 53)).toEqual(['10.96.0.1:53', '10.96.0.1:53', '10.96.0.1:53'])
    expect(served.stats.connections).toBe(1)
  })

  test.skipIf(problem !== undefined)(`messages about errors name the endpoint, not the Service${skipped}`, async () => {
    await hooks.serve({ at: ['udp 10.96.0.1:53'], internal: ['10.77.1.11:9'] })
    expect(await call('errors', '10.96.0.1', 53)).toEqual(['10.77.1.11:9'])
  })

  test('a ping to a Service address is left alone', () => {
    pod.setSysctl('ipv4.ping_group_range', '0 2147483647')
    using socket = new ClientSocket(pod, { family: 'ipv4', type: 'datagrams', protocol: 1 })
    expect(socket.connect('10.96.0.1:53')).toBe('ok')
    expect(socket.peer).toContain('10.96.0.1:')
  })
})

function ioUringProblem(): string | undefined {
  const setting = '/proc/sys/kernel/io_uring_disabled'
  // 1: only for a group of users, to which root belongs.
  return existsSync(setting) && readFileSync(setting, 'utf8').startsWith('2') ? 'io_uring is switched off' : undefined
}

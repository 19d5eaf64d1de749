/** Programs that use the kernel's less known calls. */
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { missingPrograms } from '../packet/testing/iptables-variant.ts'
import { ClientSocket } from './testing/client-socket.ts'
import { podAddresses, serverPlaces } from './testing/lab.ts'
import { describeSockets } from './testing/socket-lab.ts'

const source = fileURLToPath(new URL('./testing/unusual-calls.c', import.meta.url))
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

  describe.each([
    { what: 'IPv4', ip: '10.96.0.1', shown: '10.96.0.1', endpoints: serverPlaces.ipv4, closed: '10.77.1.11:9' },
    { what: 'IPv6', ip: 'fd96::1', shown: '[fd96::1]', endpoints: serverPlaces.ipv6, closed: '[fd77:1::11]:9' },
    { what: 'IPv4-mapped', ip: '::ffff:10.96.0.1', shown: '[::ffff:10.96.0.1]', endpoints: serverPlaces.ipv4 },
  ])('over $what', ({ ip, shown, endpoints, closed }) => {
    const place = shown.replace(/^\[::ffff:(.+)\]$/, '$1')
    const [first = ''] = endpoints

    test.skipIf(ringProblem !== undefined)(`a connection by io_uring reaches an endpoint${ringSkipped}`, async () => {
      const served = await hooks.serve({ at: [`tcp ${place}:80`], internal: [first] })
      expect(await call('io_uring', ip, 80)).toEqual(['0', `${shown}:80`])
      expect(served.picked(first)).toEqual([1])
    })

    test.skipIf(ringProblem !== undefined)(`so does one by a thread of the kernel${ringSkipped}`, async () => {
      const served = await hooks.serve({ at: [`tcp ${place}:80`], internal: [first] })
      expect(await call('sqpoll', ip, 80)).toEqual(['0', `${shown}:80`])
      expect(served.picked(first)).toEqual([1])
    })

    test.skipIf(problem !== undefined)(`many datagrams in one call are one flow${skipped}`, async () => {
      const served = await hooks.serve({ at: [`udp ${place}:53`], internal: endpoints })
      expect(await call('many', ip, 53)).toEqual([`${shown}:53`, `${shown}:53`, `${shown}:53`])
      expect(served.stats.connections).toBe(1)
    })

    // The kernel tells sockets of IPv6 nothing about errors of IPv4, unless they ask in the words of IPv4.
    test.skipIf(problem !== undefined || closed === undefined)(
      `messages about errors name the endpoint, not the Service${skipped}`,
      async () => {
        await hooks.serve({ at: [`udp ${place}:53`], internal: [closed ?? ''] })
        expect(await call('errors', ip, 53)).toEqual([closed])
      },
    )
  })

  test.each([
    ['IPv4', 'ipv4', 1, '10.96.0.1'],
    ['IPv6', 'ipv6', 58, '[fd96::1]'],
  ] as const)('a ping to a Service address of %s is left alone', async (_what, family, protocol, ip) => {
    const served = await hooks.serve({ at: [`tcp ${ip}:53`, `udp ${ip}:53`], internal: [serverPlaces[family][0]] })
    pod.setSysctl('ipv4.ping_group_range', '0 2147483647')
    using socket = new ClientSocket(pod, { family, type: 'datagrams', protocol })
    expect(socket.connect(`${ip}:53`)).toBe('ok')
    expect(socket.peer).toContain(`${ip}:`)
    expect(socket.own).toContain(podAddresses[family])
    expect(served.stats.connections).toBe(0)
  })
})

function ioUringProblem(): string | undefined {
  const setting = '/proc/sys/kernel/io_uring_disabled'
  // 1: only for a group of users, to which root belongs.
  return existsSync(setting) && readFileSync(setting, 'utf8').startsWith('2') ? 'io_uring is switched off' : undefined
}

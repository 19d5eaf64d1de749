/** Node ports on localhost that Fairlead itself listens on: restarts, other programs, and what is left behind. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { families } from '../../src/net/ip.ts'
import { answerDeadlineMs } from './testing/answer-deadline.ts'
import { listenTcp } from './testing/echo-server.ts'
import { cleanUp, fairleadNftables, startFairleadNftables } from './testing/fairlead.ts'
import { fetchFrom } from './testing/fetch-from.ts'
import { packetTestProblem } from './testing/packet-test-problem.ts'
import { describeUnless } from './testing/proxies.ts'
import { Rig } from './testing/rig.ts'
import { at } from './testing/row.ts'
import { givenService, nodePortOf } from './testing/service-fixture.ts'
import { processOf } from './testing/upgrade.ts'

const web = givenService('web', 1, { type: 'NodePort', endpoints: ['here-1'] })
const other = givenService('other', 2, { type: 'NodePort', endpoints: ['here-2'] })
const untilThere = { timeout: answerDeadlineMs(20_000), interval: 50 }

describeUnless(packetTestProblem(fairleadNftables), 'node ports on localhost in nftables mode', () => {
  test('nothing listens, and nothing is started for it, unless it is asked for', async () => {
    await using rig = await start('as the mode has it')
    expect(await answers(rig, web)).toEqual(['refused', 'refused'])
    // An engine would stay; a tool that the mode runs now and then does not.
    await expect.poll(() => childrenOf(processOf(rig).pid), untilThere).toBe('')
  })

  test('they follow the endpoints, and are counted', async () => {
    await using rig = await start()
    expect(await answers(rig, web)).toEqual(['here-1', 'here-1'])
    await rig.program([{ ...web, endpoints: ['here-3'] }, other])
    expect(await answers(rig, web)).toEqual(['here-3', 'here-3'])
    const counted = async () => {
      const metrics = await fetchFrom(rig.cluster.node, '127.0.0.1', 10_249, '/metrics')
      const lines = typeof metrics === 'string' ? [] : metrics.body.split('\n')
      const line = lines.find((one) => /^fairlead_service_connections_total\{.*"web"/.test(one) && one.includes('IPv4'))
      return Number(line?.split(' ')[1])
    }
    await expect.poll(counted, untilThere).toBe(2)
  })

  test('they are there again after a restart, and gone with the process and --cleanup', async () => {
    await using rig = await start()
    await rig.proxy.stop('SIGTERM')
    expect(await answers(rig, web)).toEqual(['refused', 'refused'])
    rig.proxy.run()
    await expect.poll(() => answers(rig, web), untilThere).toEqual(['here-1', 'here-1'])
    await rig.proxy.stop('SIGKILL')
    // An engine of a process that was killed ends by itself.
    await expect.poll(() => answers(rig, web), untilThere).toEqual(['refused', 'refused'])
    cleanUp(rig.cluster)
    expect(rig.cluster.node.run('nft', ['list', 'ruleset'])).not.toContain('fairlead')
  })

  test('another program keeps its port: it is told, and all else works', async () => {
    await using rig = await start('in every mode', [other])
    {
      using _program = listenTcp(rig.cluster.node, 'the program', nodePortOf(web))
      await rig.program([web, other])
      const told = new RegExp(`not served everywhere.*127\\.0\\.0\\.1:${nodePortOf(web)}`)
      await expect.poll(() => rig.proxy.log(), untilThere).toMatch(told)
      expect(await answers(rig, web)).toEqual(['the program', 'the program'])
      expect(await answers(rig, other)).toEqual(['here-2', 'here-2'])
      const outside = await rig.ask('outside', at('node port', web), 'ipv4', answerDeadlineMs(5000))
      expect(outside).toMatchObject({ kind: 'answer', answer: { answeredBy: 'here-1' } })
    }
    // Whatever changes next, the port is tried again.
    await rig.program([web])
    await expect.poll(() => answers(rig, web), untilThere).toEqual(['here-1', 'here-1'])
  })
})

function start(
  localhost: 'as the mode has it' | 'in every mode' = 'in every mode',
  services: readonly (typeof web)[] = [web, other],
): Promise<Rig> {
  const settings = {
    nodePortAddresses: 'as the mode has it by default',
    ...(localhost === 'in every mode' && { localhostNodePorts: localhost }),
  } as const
  return Rig.startWith((cluster) => startFairleadNftables(cluster, settings), services)
}

function answers(rig: Rig, service: typeof web): Promise<readonly string[]> {
  return Promise.all(families.map((family) => answer(rig, service, family)))
}

async function answer(rig: Rig, service: typeof web, family: (typeof families)[number]): Promise<string> {
  const outcome = await rig.ask('localhost', at('node port on localhost', service), family, answerDeadlineMs(5000))
  return outcome.kind === 'answer' ? outcome.answer.answeredBy : outcome.kind
}

function childrenOf(pid: number): string {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
}

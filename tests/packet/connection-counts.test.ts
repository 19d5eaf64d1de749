import { expect, test } from 'vitest'
import { families } from '../../src/net/ip.ts'
import { fairleadNftables } from './testing/fairlead.ts'
import { fetchFrom } from './testing/fetch-from.ts'
import { describeEach } from './testing/proxies.ts'
import { Rig } from './testing/rig.ts'
import { at } from './testing/row.ts'
import { givenService } from './testing/service-fixture.ts'
import type { ServiceFixture } from './testing/service-fixture.ts'

const web = givenService('web', 1, { type: 'NodePort', endpoints: ['here-1', 'there-1'] })
const sticky = givenService('sticky', 2, { affinitySeconds: 60, endpoints: ['here-1', 'there-1'] })
const idle = givenService('idle', 3, { endpoints: ['here-1'] })

describeEach([fairleadNftables], (proxy) => {
  test('/metrics counts the new connections of each Service, whichever way they come, and through changes', async () => {
    await using rig = await Rig.start(proxy, {}, [web, sticky, idle])
    await connect(rig, web, 5)
    await connect(rig, sticky, 3)
    expect(await counts(rig)).toEqual({ web: [15, 15], sticky: [3, 3], idle: [0, 0] })

    // Another number of endpoints makes the kernel forget; we do not.
    await rig.program([{ ...web, endpoints: ['here-1', 'there-1', 'here-2'] }, sticky, idle])
    await connect(rig, web, 2)
    await rig.program([{ ...web, endpoints: ['here-2'] }, sticky, idle])
    expect(await counts(rig)).toEqual({ web: [21, 21], sticky: [3, 3], idle: [0, 0] })
  })
})

/** That many to each address. */
async function connect(rig: Rig, service: ServiceFixture, times: number): Promise<void> {
  const doors =
    service.type === 'NodePort'
      ? [at('cluster IP', service), at('node port', service), at('cluster IP', service)]
      : [at('cluster IP', service)]
  for (const family of families)
    for (const target of doors)
      for (let time = 0; time < times; time++) {
        const outcome = await rig.ask('caller', target, family, 10_000)
        expect(outcome.kind).toBe('answer')
      }
}

/** Of IPv4 and of IPv6. */
async function counts(rig: Rig): Promise<Readonly<Record<string, readonly number[]>>> {
  const text = await scrape(rig)
  const countOf = (service: string, family: string) =>
    Number(
      text
        .split('\n')
        .find(
          (line) =>
            line.startsWith('fairlead_service_connections_total{') &&
            line.includes(`service="${service}",port="http",protocol="TCP",ip_family="${family}"`),
        )
        ?.split(' ')
        .at(-1),
    )
  return Object.fromEntries(
    [web, sticky, idle].map(({ name }) => [name, ['IPv4', 'IPv6'].map((family) => countOf(name, family))]),
  )
}

/** A busy machine may need a second try. */
async function scrape(rig: Rig): Promise<string> {
  let text = ''
  await expect
    .poll(
      async () => {
        const answer = await fetchFrom(rig.cluster.node, '127.0.0.1', 10_249, '/metrics')
        if (typeof answer === 'object' && answer.status === 200) text = answer.body
        return text
      },
      { timeout: 20_000 },
    )
    .not.toBe('')
  return text
}

import { afterAll, describe, expect, test } from 'vitest'
import { testBalancer } from './testing/load-balancers.ts'
import type { LibraryName } from '../../../tests/windows/stand-in/build.ts'
import { renderLoadBalancer, renderQuery } from './documents.ts'
import { driverContract } from './driver.contract.ts'
import { guidBytes } from './guid.ts'
import { hcnOverDriver } from './hcn-over-driver.ts'
import { openNativeDriver } from './native-driver.ts'
import { systemLibraries } from './native-libraries.ts'
import { missingForStandIn, openStandIn, removeStandIns } from './testing/stand-in.ts'

const { signal } = new AbortController()
afterAll(removeStandIns)

const network = '5a3d0000-0000-4000-8000-000000000001'
const pod = '8f1c0000-0000-4000-8000-000000000002'

const state = [
  `Network {"ID":"${network.toUpperCase()}","Name":"pod-net","Type":"L2Bridge","SchemaVersion":{"Major":2,"Minor":0}}`,
  String.raw`Network {"ID":"5a3d0000-0000-4000-8000-000000000009","Name":"F\u00fcchse 🦊"}`,
]
const cniEndpoint = `Endpoint {"ID":"${pod}","Name":"pod","HostComputeNetwork":"${network}","IpConfigurations":[{"IpAddress":"10.61.1.5"}]}`

async function open(lines: readonly string[] = [...state, cniEndpoint], name: LibraryName = 'computenetwork') {
  const standIn = await openStandIn(name)
  await standIn.setState(lines)
  await standIn.setFaults([])
  const driver = await openNativeDriver(standIn.libraries)
  return { standIn, driver, [Symbol.asyncDispose]: () => standIn[Symbol.asyncDispose]() }
}

const balancer = testBalancer({ endpoints: [pod] })

const missing = missingForStandIn()
describe.skipIf(missing !== undefined)(
  `the native driver${missing === undefined ? '' : ` (skipped: ${missing})`}`,
  () => {
    driverContract('the native driver', async () => {
      const it = await open(state)
      return {
        driver: it.driver,
        async [Symbol.asyncDispose]() {
          const { texts, handles } = it.standIn.lent()
          if (texts + handles > 0) throw new Error(`${texts} texts and ${handles} handles were not given back`)
          if (it.standIn.mostCallsAtOnce() > 1) throw new Error('several calls were made at once')
          await it.standIn[Symbol.asyncDispose]()
        },
      }
    })

    test('calls the functions that it must, with GUIDs and texts as they are', async () => {
      await using it = await open()
      await it.driver.query('Endpoint', pod, renderQuery())
      await it.driver.create('LoadBalancer', renderLoadBalancer(balancer))
      const log = (await it.standIn.takeLog()).map((line) => line.replace(/ -> .*/, ''))
      expect(log.slice(0, 4)).toEqual([
        `HcnOpenEndpoint ${pod}`,
        `HcnQueryEndpointProperties ${pod}`,
        `HcnCloseEndpoint ${pod}`,
        `HcnCreateLoadBalancer ${renderLoadBalancer(balancer)}`,
      ])
      expect(log.slice(4).map((line) => line.split(' ')[0])).toEqual([
        'HcnQueryLoadBalancerProperties',
        'HcnCloseLoadBalancer',
      ])
    })

    test.each([
      ['HcnEnumerateEndpoints', 'hcnEnumerateEndpoints'],
      ['HcnOpenEndpoint', 'hcnOpenEndpoint'],
      ['HcnQueryEndpointProperties', 'hcnQueryEndpointProperties'],
      ['HcnOpenNetwork', 'hcnOpenNetwork'],
      ['HcnCreateEndpoint', 'hcnCreateEndpoint'],
      ['HcnCreateLoadBalancer', 'hcnCreateLoadBalancer'],
      ['HcnQueryLoadBalancerProperties', 'hcnQueryLoadBalancerProperties'],
      ['HcnModifyLoadBalancer', 'hcnModifyLoadBalancer'],
      ['HcnDeleteLoadBalancer', 'hcnDeleteLoadBalancer'],
    ])('a failure of %s is told with its code and its record, and nothing is kept', async (name, operation) => {
      await using it = await open()
      const { driver, standIn } = it
      const { ID: id } = JSON.parse(await driver.create('LoadBalancer', renderLoadBalancer(balancer))) as { ID: string }
      const record = '{"Success":false,"Error":"Zugriff verweigert 🚫 ","ErrorCode":2147942405}'
      await standIn.setFaults([`${name} 0x80070005 ${record}`])
      const failed = (
        await Promise.allSettled([
          driver.enumerate('Endpoint', renderQuery()),
          driver.query('Endpoint', pod, renderQuery()),
          driver.create('Endpoint', '{}', network),
          driver.create('LoadBalancer', renderLoadBalancer({ ...balancer, externalPort: 81 })),
          driver.modifyLoadBalancer(id, renderLoadBalancer(balancer)),
          driver.remove('LoadBalancer', id),
        ])
      ).filter((outcome) => outcome.status === 'rejected')
      expect(failed[0]?.reason).toMatchObject({
        name: 'HcnError',
        reason: 'unavailable',
        hresult: 0x80070005,
        message: `${operation} failed in Win32: Access is denied. (0x5) ${record}`,
      })
      expect(standIn.lent()).toEqual({ texts: 0, handles: 0 })
    })

    test('success with a record is a failure', async () => {
      await using it = await open()
      await it.standIn.setFaults(['HcnEnumerateNetworks 0x0 {"Success":false}'])
      await expect(it.driver.enumerate('Network', renderQuery())).rejects.toMatchObject({
        reason: 'refused',
        hresult: 0x8007001f,
      })
      expect(it.standIn.lent()).toEqual({ texts: 0, handles: 0 })
    })

    test.each(['0x0+ {"Success":false}', '0x80070005+'])(
      'what is lent beside a failure (%s) is given back, too',
      async (fault) => {
        await using it = await open()
        const functions = [
          'HcnEnumerateNetworks',
          'HcnOpenEndpoint',
          'HcnQueryNetworkProperties',
          'HcnCreateLoadBalancer',
        ]
        await it.standIn.setFaults([...functions, 'HNSCall'].map((name) => `${name} ${fault}`))
        const outcomes = await Promise.allSettled([
          it.driver.enumerate('Network', renderQuery()),
          it.driver.query('Endpoint', pod, renderQuery()),
          it.driver.query('Network', network, renderQuery()),
          it.driver.create('LoadBalancer', renderLoadBalancer(balancer)),
        ])
        expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected', 'rejected'])
        await Promise.allSettled([it.driver.hnsCall('GET', '/policylists/', '')])
        expect(it.standIn.lent()).toEqual({ texts: 0, handles: 0 })
      },
    )

    test('no text is an empty text, and is not freed; no handle is an error', async () => {
      await using it = await open()
      await it.standIn.setFaults(['HcnEnumerateNetworks 0x0', 'HcnOpenEndpoint 0x0', 'HNSCall 0x0'])
      expect(await it.driver.enumerate('Network', renderQuery())).toBe('')
      expect(await it.driver.hnsCall('GET', '/globals/version', '')).toBe('')
      await expect(it.driver.query('Endpoint', pod, renderQuery())).rejects.toThrow(
        'HcnOpenEndpoint succeeded, and returned nothing',
      )
      expect(it.standIn.lent()).toEqual({ texts: 0, handles: 0 })
    })

    test('the old API fails with a code, too', async () => {
      await using it = await open()
      await it.standIn.setFaults(['HNSCall 0x800706ba'])
      await expect(it.driver.hnsCall('GET', '/policylists/', '')).rejects.toMatchObject({
        reason: 'unavailable',
        message: 'HNSCall failed in Win32: The RPC server is unavailable. (0x6ba)',
      })
    })

    test('a call that takes long holds up no timer, and the next call waits for it', async () => {
      await using it = await open()
      await it.standIn.setFaults(['HcnEnumerateNetworks wait 200'])
      let turns = 0
      const timer = setInterval(() => turns++, 5)
      await Promise.all([it.driver.enumerate('Network', renderQuery()), it.driver.enumerate('Endpoint', renderQuery())])
      clearInterval(timer)
      expect(turns).toBeGreaterThan(3)
      expect(it.standIn.mostCallsAtOnce()).toBe(1)
      expect((await it.standIn.takeLog()).map((line) => line.split(' ')[0])).toEqual([
        'HcnEnumerateNetworks',
        'HcnEnumerateEndpoints',
      ])
    })

    test('an id that is none reaches no function', async () => {
      await using it = await open()
      await expect(it.driver.remove('LoadBalancer', 'x')).rejects.toThrow('invalid load balancer ID: "x" is not a GUID')
      expect(await it.standIn.takeLog()).toEqual([])
    })

    test('many objects are made, listed and deleted, and everything is given back', async () => {
      await using it = await open()
      const hcn = hcnOverDriver(it.driver, { timeLimitMs: 20_000 })
      const ids = []
      for (let port = 1; port <= 50; port++)
        ids.push(await hcn.createLoadBalancer({ ...balancer, externalPort: port }, signal))
      expect(await hcn.loadBalancers(signal)).toHaveLength(50)
      expect(await hcn.loadBalancerSummaries(signal)).toHaveLength(50)
      for (const id of ids) await hcn.deleteLoadBalancer(id, signal)
      expect(await hcn.loadBalancers(signal)).toEqual([])
      expect(it.standIn.lent()).toEqual({ texts: 0, handles: 0 })
    })

    test('a Windows that cannot change load balancers says so, and does the rest', async () => {
      await using it = await open(undefined, 'computenetwork-without-modify')
      const hcn = hcnOverDriver(it.driver, { timeLimitMs: 10_000 })
      const id = await hcn.createLoadBalancer(balancer, signal)
      await expect(hcn.modifyLoadBalancer(id, balancer, signal)).rejects.toMatchObject({ reason: 'not-implemented' })
      // Windows tells one library only of what is freed, and that is the other one.
      expect(it.standIn.lent().handles).toBe(0)
    })

    test('a library without the functions is missing, and says which one', async () => {
      await using it = await open()
      const libraries = { ...it.standIn.libraries, vmCompute: process.platform === 'win32' ? 'ole32.dll' : 'libm.so.6' }
      await expect(openNativeDriver(libraries)).rejects.toMatchObject({
        name: 'HcnError',
        reason: 'missing',
        message: expect.stringMatching(/ has no function HNSCall; kernelspace needs Windows Server 2019 /),
      })
    })
  },
)

test('a machine without the library is told what to install', async () => {
  const libraries = systemLibraries({ SystemRoot: String.raw`D:\Windows` })
  await expect(openNativeDriver(libraries)).rejects.toMatchObject({
    name: 'HcnError',
    reason: 'missing',
    message: String.raw`D:\Windows\System32\computenetwork.dll cannot be loaded; kernelspace needs Windows Server 2019 or newer with the feature Containers: Install-WindowsFeature Containers, then restart`,
  })
})

test('libraries come from the folder of the system', () => {
  expect(systemLibraries({})).toEqual({
    computeNetwork: String.raw`C:\Windows\System32\computenetwork.dll`,
    vmCompute: String.raw`C:\Windows\System32\vmcompute.dll`,
    ole: String.raw`C:\Windows\System32\ole32.dll`,
  })
})

test('the bytes of a GUID are in the order of Windows', () => {
  expect(guidBytes('00112233-4455-6677-8899-AABBCCDDEEFF', 'network').toString('hex')).toBe(
    '33221100554477668899aabbccddeeff',
  )
})

import { once } from 'node:events'
import { request } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { DemoAction, DemoButton, DemoReplica, DemoService } from '../../src/observe/console/wire.ts'
import { TemporaryFolder } from '../../src/sources/kube/testing/temporary-folder.ts'
import { failureOf, get, sayOverUdp, whoAnswers, whoTakesTurns } from './testing/clients.ts'
import { DemoProcess } from './testing/demo-process.ts'
import { eventually } from './testing/eventually.ts'
import { kubectl, whyNoKubectl } from './testing/kubectl.ts'
import { LiveStream } from './testing/live-stream.ts'

let folder: TemporaryFolder
let demo: DemoProcess
let stream: LiveStream

beforeEach(async () => {
  folder = await TemporaryFolder.make()
  demo = await DemoProcess.start(folder)
  stream = await LiveStream.open(demo.consoleUrl, 'demo', 'overview', 'service/shop/web')
})

afterEach(async () => {
  await stream[Symbol.asyncDispose]()
  await demo[Symbol.asyncDispose]()
  await folder[Symbol.asyncDispose]()
})

test('the address of the page comes first, and the page is there', async () => {
  expect(demo.process.stdout).toMatch(/^Open http:\/\/127\.0\.0\.1:\d+\/ in a browser/)
  const page = await fetch(demo.consoleUrl)
  expect([page.status, page.headers.get('content-type')]).toEqual([200, expect.stringContaining('text/html')])
  await stream.tells('about', (about) => expect(about).toMatchObject({ isDemo: true, kind: 'node' }))
})

test('clients ask every Service while somebody looks, and each of them is told who answered', async () => {
  await seen('web', ({ clients }) => {
    for (const { answers } of clients) expect(answers).toContainEqual(expect.stringMatching(/^web-[123]$/))
  })
  await seen('echo', ({ clients }) => expect(clients[0]?.answers).toContainEqual(expect.stringMatching(/^echo-[12]$/)))
  await seen('closed', ({ clients }) => expect(clients[0]?.answers).toContain(''))
  // Affinity: whoever answers a client once, answers it always.
  await seen('api', ({ clients }) => {
    for (const { answers } of clients) {
      expect(answers.length).toBeGreaterThan(1)
      expect(new Set(answers).size).toBe(1)
    }
  })
})

test('nobody looks: nobody asks', async () => {
  await seen('web', ({ clients }) => expect(clients[0]?.answers.length).toBeGreaterThan(0))
  await stream[Symbol.asyncDispose]()
  const [, metrics = ''] = /Metrics: curl (\S+)/.exec(demo.process.stdout) ?? []
  const carried = async () => {
    const { body } = await get(metrics)
    const lines = body.split('\n').filter((line) => line.startsWith('fairlead_service_connections_total{'))
    const web = lines.find((line) => line.includes('service="web"'))
    expect(web).toMatch(/ [1-9]\d*$/)
    return web
  }
  // What was under way ends, and then nothing comes in the time of two rounds; with clients, something always would.
  await eventually(async () => {
    const before = await carried()
    await new Promise((resolve) => setTimeout(resolve, 2_500))
    expect(await carried()).toBe(before)
  })
})

test('the pages of a node are true of the demo: its rules are there, and its doctor finds what is empty by intention', async () => {
  const read = async (path: string) => (await get(`${demo.consoleUrl}${path}`)).body
  const { url } = demo.service('shop/web:http')
  const listener = new URL(url).host
  expect(await read('debug/rules?family=ipv4')).toContain(listener)
  expect(await read('debug/rules?service=shop/web')).toContain(listener)
  expect(await read('debug/explain?target=service/web&namespace=shop&output=text')).toContain(listener)
  const { findings } = JSON.parse(await read('debug/doctor')) as {
    readonly findings: readonly { readonly what: string }[]
  }
  // Of the machine it may find something; of the sample application only this.
  expect(findings.map(({ what }) => what).filter((what) => /shop|kubernetes|rights/.test(what))).toEqual([
    'shop/closed, port 8083/TCP, ipv4 has no endpoints, and no selector that would find some.',
  ])
})

describe('a button', () => {
  test('stops a replica: no client notices, the proxy learns it, and it can be started again', async () => {
    const { url } = demo.service('shop/web:http')
    await press({ kind: 'stop', replica: 'web-2' })
    for (let count = 0; count < 6; count++) expect(await whoAnswers(url)).toMatch(/^web-[13]$/)
    await replica('web-2', ({ state }) => expect(state).toBe('stopped'))
    await stream.tells('service', ({ ports }) =>
      expect(ports[0]?.endpoints.map(({ state }) => state).sort()).toEqual(['not ready', 'ready', 'ready']),
    )
    await press({ kind: 'start', replica: 'web-2' })
    await eventually(async () => expect(await whoTakesTurns(url, 6)).toEqual(['web-1', 'web-2', 'web-3']))
  })

  test('drains a replica: it gets nothing new, and then it is gone', async () => {
    const { url } = demo.service('shop/web:http')
    await press({ kind: 'drain', replica: 'web-1' })
    await eventually(async () => expect(await whoTakesTurns(url, 6)).toEqual(['web-2', 'web-3']))
    await replica('web-1', ({ state, actions }) => expect([state, actions]).toEqual(['draining', []]))
    await seen('web', ({ replicas }) => expect(replicas.map(({ name }) => name)).toEqual(['web-2', 'web-3']))
  })

  test('drains the only replica: it serves until it is gone', async () => {
    const { url } = demo.service('shop/web:http')
    await press({ kind: 'scale', service: 'shop/web', to: 1 })
    await eventually(async () => expect(await whoTakesTurns(url, 6)).toEqual(['web-1']))
    await press({ kind: 'drain', replica: 'web-1' })
    await replica('web-1', ({ state }) => expect(state).toBe('draining'))
    expect(await whoAnswers(url)).toBe('web-1')
    await eventually(async () => expect(await failureOf(url)).toBe('ECONNRESET'))
  })

  test('scales: from nobody to somebody, and a UDP Service too', async () => {
    const { url } = demo.service('shop/closed:http')
    expect(await failureOf(url)).toBe('ECONNRESET')
    await press({ kind: 'scale', service: 'shop/closed', to: 1 })
    await eventually(async () => expect(await whoAnswers(url)).toBe('closed-1'))
    await press({ kind: 'scale', service: 'shop/echo', to: 1 })
    await seen('echo', ({ replicas }) => expect(replicas).toHaveLength(1))
    await eventually(async () =>
      expect(await sayOverUdp('ahoy', demo.service('shop/echo:echo'))).toBe('echo-1 heard ahoy'),
    )
    await press({ kind: 'scale', service: 'shop/closed', to: 0 })
    await eventually(async () => expect(await failureOf(url)).toBe('ECONNRESET'))
  })

  test('turns affinity on and off', async () => {
    const { url } = demo.service('shop/web:http')
    await press({ kind: 'affinity', service: 'shop/web', to: 'on' })
    await eventually(async () => expect(await whoTakesTurns(url, 6)).toHaveLength(1))
    await seen('web', ({ hasAffinity }) => expect(hasAffinity).toBe(true))
    await press({ kind: 'affinity', service: 'shop/web', to: 'off' })
    await eventually(async () => expect(await whoTakesTurns(url, 6)).toHaveLength(3))
  })

  test('kills the API server: traffic goes on, the overview says so, and what comes after is not lost', async () => {
    const { url } = demo.service('shop/web:http')
    const apiUrl = await demo.apiUrl()
    await press({ kind: 'api-server', to: 'off' })
    expect(await failureOf(apiUrl)).toBe('ECONNREFUSED')
    expect(await whoTakesTurns(url, 6)).toHaveLength(3)
    await stream.tells('demo', ({ isApiServerUp }) => expect(isApiServerUp).toBe(false))
    await stream.tells('overview', ({ source }) => expect(source.state).toBe('lost'))
    expect(await post({ kind: 'stop', replica: 'web-1' })).toEqual({
      status: 400,
      text: 'the API server is away: bring it back first\n',
    })
    await press({ kind: 'api-server', to: 'on' })
    await stream.tells('overview', ({ source }) => expect(source.state).toBe('live'))
    await press({ kind: 'scale', service: 'shop/web', to: 4 })
    await eventually(async () => expect(await whoTakesTurns(url, 8)).toHaveLength(4))
  })
})

test.skipIf(whyNoKubectl !== undefined)(
  `the kubectl line of each button does the same, and the page follows${whyNoKubectl === undefined ? '' : ` (skipped: ${whyNoKubectl})`}`,
  async () => {
    const { url } = demo.service('shop/web:http')
    const type = async (line: string) => {
      const [program, ...args] = words(line)
      expect(program).toBe('kubectl')
      await kubectl(demo.kubeconfig, ...args)
    }
    // The stream tells of a change a moment after a connection has met it.
    const offered = (actions: readonly DemoButton[], label: string) => {
      const line = actions.find((button) => button.label === label)?.kubectl
      if (line === undefined) throw new Error(`the page does not offer "${label}"`)
      return line
    }
    const lineOf = (name: string, label: string) => replica(name, ({ actions }) => offered(actions, label))
    const serviceLine = (label: string) => seen('web', ({ actions }) => offered(actions, label))

    await type(await lineOf('web-2', 'Stop'))
    await replica('web-2', ({ state }) => expect(state).toBe('stopped'))
    await eventually(async () => expect(await whoTakesTurns(url, 6)).toEqual(['web-1', 'web-3']))
    await type(await lineOf('web-2', 'Start'))
    await eventually(async () => expect(await whoTakesTurns(url, 6)).toEqual(['web-1', 'web-2', 'web-3']))

    await type(await serviceLine('Add a replica'))
    await eventually(async () => expect(await whoTakesTurns(url, 8)).toHaveLength(4))
    await seen('web', ({ replicas }) => expect(replicas).toHaveLength(4))
    await type(await serviceLine('Remove a replica'))
    await eventually(async () => expect(await whoTakesTurns(url, 6)).toEqual(['web-1', 'web-2', 'web-3']))

    await type(await serviceLine('Turn affinity on'))
    await eventually(async () => expect(await whoTakesTurns(url, 6)).toHaveLength(1))
    await type(await serviceLine('Turn affinity off'))
    await eventually(async () => expect(await whoTakesTurns(url, 6)).toHaveLength(3))

    await type(await lineOf('web-3', 'Drain'))
    await replica('web-3', ({ state }) => expect(state).toBe('draining'))
    await eventually(async () => expect(await whoTakesTurns(url, 6)).toEqual(['web-1', 'web-2']))
    await stream.tells('demo', ({ story }) => {
      expect(story.map(({ text }) => text)).toContainEqual(expect.stringMatching(/^web-3 is gone/))
    })
    await kubectl(demo.kubeconfig, 'apply', '-f', demo.manifests)
    await eventually(async () => expect(await whoTakesTurns(url, 6)).toEqual(['web-1', 'web-2', 'web-3']))
  },
)

describe('what comes from elsewhere changes nothing', () => {
  const stop: DemoAction = { kind: 'api-server', to: 'off' }

  test.each<[string, number, Record<string, string>]>([
    ['a page of another site', 403, { Origin: 'https://evil.example' }],
    ['a page at another port of this machine', 403, { Origin: 'http://127.0.0.1:1' }],
    ['a sandboxed page', 403, { Origin: 'null' }],
    ['a cross-site request without Origin', 403, { 'Sec-Fetch-Site': 'cross-site' }],
    ['a name that is made to lead here', 403, { Host: 'evil.example' }],
    ['a form, which cannot send JSON', 415, { 'Content-Type': 'text/plain' }],
    ['a form without a type', 415, { 'Content-Type': '' }],
  ])('%s: %i', async (_what, status, headers) => {
    expect((await post(stop, headers)).status).toBe(status)
    expect(await failureOf(await demo.apiUrl())).toMatch(/^no failure/)
  })

  test.each<[string, unknown]>([
    ['no object', 'stop'],
    ['an unknown kind', { kind: 'explode' }],
    ['a switch without a position', { kind: 'api-server' }],
    ['a Service of others', { kind: 'scale', service: 'default/kubernetes', to: 3 }],
    ['a path in place of a name', { kind: 'stop', replica: '../services/web' }],
  ])('%s is refused with a sentence', async (_what, action) => {
    const { status, text } = await post(action)
    expect(status).toBe(400)
    expect(text).toMatch(/^\S.*\n$/)
  })
})

test('Ctrl-C ends it at once, though somebody looks and clients ask', async () => {
  await seen('web', ({ clients }) => expect(clients[0]?.answers.length).toBeGreaterThan(0))
  demo.process.send('SIGINT')
  expect(await demo.process.ended()).toEqual({ code: 0, signal: null })
  await stream.ended()
  expect(demo.process.stderr).toBe('')
  expect(await demo.temporaryFolders()).toEqual([])
})

test('Ctrl-C ends it in the middle of an outage, too', async () => {
  await press({ kind: 'api-server', to: 'off' })
  demo.process.send('SIGINT')
  expect(await demo.process.ended()).toEqual({ code: 0, signal: null })
})

function seen<T>(service: string, attempt: (service: DemoService) => T): Promise<T> {
  return stream.tells('demo', ({ services }) => {
    const found = services.find(({ key }) => key === `shop/${service}`)
    if (found === undefined) throw new Error(`no ${service} on the page`)
    return attempt(found)
  })
}

function replica<T>(name: string, attempt: (replica: DemoReplica) => T): Promise<T> {
  return seen(name.replace(/-\d+$/, ''), ({ replicas }) => {
    const found = replicas.find((one) => one.name === name)
    if (found === undefined) throw new Error(`no ${name} on the page`)
    return attempt(found)
  })
}

async function press(action: DemoAction): Promise<void> {
  expect(await post(action)).toEqual({ status: 204, text: '' })
}

/** With fetch, a test cannot choose Host and Origin. */
async function post(action: unknown, headers: Readonly<Record<string, string>> = {}) {
  const asked = request(new URL('/api/demo', demo.consoleUrl), {
    method: 'POST',
    agent: false,
    headers: { 'Content-Type': 'application/json', ...headers },
  })
  asked.end(JSON.stringify(action))
  const [response] = (await once(asked, 'response')) as [IncomingMessage]
  let text = ''
  for await (const chunk of response.setEncoding('utf8')) text += chunk as string
  return { status: response.statusCode, text }
}

/** As a shell splits a line with single quotes. */
function words(line: string): readonly string[] {
  return [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '')
}

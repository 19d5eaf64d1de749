/** Statuses, headers and bodies were recorded from the handlers of Kubernetes 1.36 for the same requests. */
import { parse } from 'yaml'
import { expect, onTestFinished, test, vi } from 'vitest'
import { silentLogger } from '../../core/logger.ts'
import { FakeClock } from '../../core/testing/fake-clock.ts'
import { MetricRegistry } from '../metrics/prometheus.ts'
import { listenHttp } from './http-server.ts'
import { metricsHandler } from './metrics-server.ts'
import type { MetricsServerOptions } from './metrics-server.ts'
import { rawRequest } from './testing/raw-request.ts'
import type { RawRequest } from './testing/raw-request.ts'

const plain = { 'content-type': 'text/plain; charset=utf-8' }
const plainNoSniff = { ...plain, 'x-content-type-options': 'nosniff' }
const startMs = Date.UTC(2026, 10, 15, 14, 19, 55, 400)

test('/metrics shows the registry and when the process started', async () => {
  const registry = new MetricRegistry()
  registry.counter({ name: 'x_total', labels: [], help: 'X.' }).increment({}, 3)
  const { get } = await given({ registry })
  expect(await get('/metrics')).toEqual({
    status: 200,
    headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8', 'process-start-time-unix': '1794752395' },
    body: '# HELP x_total X.\n# TYPE x_total counter\nx_total 3\n',
  })
})

test('/healthz says ok, verbosely if asked, and whatever is excluded', async () => {
  const { get } = await given({})
  expect(await get('/healthz')).toEqual({ status: 200, headers: plainNoSniff, body: 'ok' })
  expect(await get('/healthz', { method: 'POST' })).toMatchObject({ status: 200, body: 'ok' })
  expect((await get('/healthz?exclude=ping')).body).toBe('ok')
  expect((await get('/healthz?verbose')).body).toBe('[+]ping ok\nhealthz check passed\n')
  expect((await get('/healthz?exclude=ping&verbose')).body).toBe('[+]ping excluded: ok\nhealthz check passed\n')
  expect((await get('/healthz?exclude=foo&verbose')).body).toBe(
    '[+]ping ok\nwarn: some health checks cannot be excluded: no matches for "foo"\nhealthz check passed\n',
  )
  expect(await get('/healthz/ping?verbose')).toEqual({ status: 200, headers: plain, body: 'ok' })
})

test('/metrics/slis counts those checks until it is reset', async () => {
  const { get } = await given({})
  for (const path of ['/healthz', '/healthz?verbose', '/healthz?exclude=ping', '/healthz/ping']) await get(path)
  const started = `# HELP process_start_time_seconds [ALPHA] When the process started, in Unix seconds.
# TYPE process_start_time_seconds gauge
process_start_time_seconds 1794752395.4
`
  expect(await get('/metrics/slis')).toMatchObject({
    headers: { 'process-start-time-unix': '1794752395' },
    body: `# HELP kubernetes_healthcheck [STABLE] The last result of a health check: 1 is good.
# TYPE kubernetes_healthcheck gauge
kubernetes_healthcheck{name="ping",type="healthz"} 1
# HELP kubernetes_healthchecks_total [STABLE] How often a health check had which result.
# TYPE kubernetes_healthchecks_total counter
kubernetes_healthchecks_total{name="ping",type="healthz",status="success"} 2
${started}`,
  })
  expect(await get('/metrics/slis', { method: 'DELETE' })).toEqual({
    status: 200,
    headers: plain,
    body: 'metrics reset\n',
  })
  expect((await get('/metrics/slis')).body).toBe(started)
})

test('/proxyMode is the mode and nothing else', async () => {
  const { get } = await given({ mode: 'nftables' })
  expect(await get('/proxyMode')).toEqual({ status: 200, headers: plainNoSniff, body: 'nftables' })
})

test('/configz is the configuration under its group', async () => {
  const config = { kind: 'KubeProxyConfiguration', apiVersion: 'kubeproxy.config.k8s.io/v1alpha1', mode: '' }
  const { get } = await given({ config })
  expect(await get('/configz')).toEqual({
    status: 200,
    headers: { 'content-type': 'application/json', 'x-content-type-options': 'nosniff' },
    body: '{"kubeproxy.config.k8s.io":{"kind":"KubeProxyConfiguration","apiVersion":"kubeproxy.config.k8s.io/v1alpha1","mode":""}}',
  })
})

const flags = { profiling: 'true', config: '', 'nodeport-addresses': '[10.0.0.0/8,b]' }
const flagzText = `
kube-proxy flagz
Warning: this text is for people and may change; programs ask for application/json;v=v1beta1;g=config.k8s.io;as=Flagz
config=
nodeport-addresses=[10.0.0.0/8,b]
profiling=true
`
for (const accept of [
  undefined,
  '',
  'text/plain',
  'text/plain;charset=utf-8',
  'text/*',
  '*/*',
  'application/json, text/plain',
  'application/json;q=0.1,text/plain;q=0.9',
]) {
  test(`/flagz is sorted text for Accept: ${accept}`, async () => {
    const { get } = await given({ flags })
    const headers = accept === undefined ? {} : { accept }
    expect(await get('/flagz', { headers })).toEqual({ status: 200, headers: plain, body: flagzText })
  })
}

for (const accept of [
  'application/json',
  'text/html',
  'application/*',
  'application/json;v=v1;g=config.k8s.io;as=Flagz',
  'application/json;as=Flagz',
  'application/json;v=v1beta1;g=config.k8s.io;as=Statusz',
  'application/cbor;v=v1beta1;g=config.k8s.io;as=Flagz',
]) {
  test(`/flagz refuses Accept: ${accept}`, async () => {
    const { get } = await given({ flags })
    expect(await get('/flagz', { headers: { accept } })).toEqual({
      status: 406,
      headers: { 'content-type': 'application/json' },
      body: `{
  "kind": "Status",
  "apiVersion": "v1",
  "metadata": {},
  "status": "Failure",
  "message": "only the following media types are accepted: application/json, application/yaml, text/plain",
  "reason": "NotAcceptable",
  "code": 406
}`,
    })
  })
}

test('/flagz refuses plain yaml in yaml', async () => {
  const { get } = await given({ flags })
  const answer = await get('/flagz', { headers: { accept: 'application/yaml' } })
  expect(answer).toMatchObject({ status: 406, headers: { 'content-type': 'application/yaml' } })
  expect(parse(answer.body)).toMatchObject({ kind: 'Status', reason: 'NotAcceptable', code: 406 })
})

for (const version of ['v1beta1', 'v1alpha1']) {
  test(`/flagz is an object for a program that asks for ${version}`, async () => {
    const { get } = await given({ flags })
    const accept = `application/json;v=${version};g=config.k8s.io;as=Flagz, application/yaml`
    expect(await get('/flagz', { headers: { accept } })).toEqual({
      status: 200,
      headers: {
        'content-type': `application/json;g=config.k8s.io;v=${version};as=Flagz`,
        ...(version === 'v1alpha1' && { warning: '299 - "v1alpha1 of flagz is deprecated: use v1beta1"' }),
      },
      body: `{
  "kind": "Flagz",
  "apiVersion": "config.k8s.io/${version}",
  "metadata": {
    "name": "kube-proxy"
  },
  "flags": {
    "config": "",
    "nodeport-addresses": "[10.0.0.0/8,b]",
    "profiling": "true"
  }
}`,
    })
  })
}

test('/flagz goes by what the client wants most, not by what it names first', async () => {
  const { get } = await given({ flags })
  const accept = 'text/plain;q=0.1,application/json;v=v1beta1;g=config.k8s.io;as=Flagz'
  expect((await get('/flagz', { headers: { accept } })).headers['content-type']).toContain('application/json')
})

const statusz = { binaryVersion: '1.36', runtimeVersion: 'v20.20.2' }

test('/statusz tells people what runs and for how long', async () => {
  const { get, clock } = await given({ statusz, flags })
  await clock.advance(3_725_000)
  expect(await get('/statusz')).toEqual({
    status: 200,
    headers: plain,
    body: `
kube-proxy statusz
Warning: this text is for people and may change; programs ask for application/json;v=v1beta1;g=config.k8s.io;as=Statusz

Started: Sun, 15 Nov 2026 14:19:55 GMT
Up: 1 hr 02 min 05 sec
Node.js version: v20.20.2
Binary version: 1.36
Emulation version: 1.36
Paths: /configz /flagz /healthz /metrics /proxyMode
`,
  })
})

test('/statusz is yaml or json for programs', async () => {
  const { get, clock } = await given({ statusz, flags })
  await clock.advance(1999)
  const ask = (format: string) =>
    get('/statusz', { headers: { accept: `application/${format};v=v1beta1;g=config.k8s.io;as=Statusz` } })
  const yaml = await ask('yaml')
  expect(yaml).toEqual({
    status: 200,
    headers: { 'content-type': 'application/yaml;g=config.k8s.io;v=v1beta1;as=Statusz' },
    body: `apiVersion: config.k8s.io/v1beta1
binaryVersion: "1.36"
emulationVersion: "1.36"
goVersion: v20.20.2
kind: Statusz
metadata:
  name: kube-proxy
paths:
- /configz
- /flagz
- /healthz
- /metrics
- /proxyMode
startTime: "2026-11-15T14:19:55Z"
uptimeSeconds: 1
`,
  })
  expect(JSON.parse((await ask('json')).body)).toEqual(parse(yaml.body))
})

test('without their gates and without profiling, /flagz, /statusz and /debug are not found', async () => {
  const { get } = await given({})
  for (const path of ['/flagz', '/statusz', '/debug/pprof', '/debug/pprof/', '/debug/pprof/heap', '/debug/flags/v'])
    expect(await get(path)).toMatchObject({ status: 404 })
})

for (const path of ['/', '/livez', '/healthz/', '/metrics/', '//metrics', '/proxymode', '/debug/flags/x']) {
  test(`${path} is not found`, async () => {
    const { get } = await given({ profiling: { setVerbosity: () => {} } })
    expect(await get(path)).toEqual({ status: 404, headers: plainNoSniff, body: '404 page not found\n' })
  })
}

test('PUT /debug/flags/v changes the verbosity, and only a number does', async () => {
  const setVerbosity = vi.fn<(verbosity: number) => void>()
  const { get } = await given({ profiling: { setVerbosity } })
  const headers = { 'content-type': 'text/plain', 'x-content-type-options': 'nosniff' }
  expect(await get('/debug/flags/v', { method: 'PUT', body: '4' })).toEqual({
    status: 200,
    headers,
    body: 'successfully set klog.logging.verbosity to 4\n',
  })
  for (const body of ['abc', '-3', '', '1.5', '2147483648', '9'.repeat(5000)])
    expect(await get('/debug/flags/v', { method: 'PUT', body })).toMatchObject({ status: 400, headers })
  for (const method of ['GET', 'POST'])
    expect(await get('/debug/flags/v', { method })).toEqual({ status: 406, headers, body: 'unsupported http method\n' })
  expect(setVerbosity.mock.calls).toEqual([[4]])
})

test('/debug/flags lists what can be changed', async () => {
  const { get } = await given({ profiling: { setVerbosity: () => {} } })
  for (const path of ['/debug/flags', '/debug/flags/'])
    expect(await get(path)).toMatchObject({ status: 200, headers: { 'content-type': 'text/html; charset=utf-8' } })
})

test('/debug/pprof leads to the index of profiles', async () => {
  const { get } = await given({ profiling: { setVerbosity: () => {} } })
  expect(await get('/debug/pprof')).toEqual({
    status: 302,
    headers: { 'content-type': 'text/html; charset=utf-8', location: '/debug/pprof/' },
    body: '<a href="/debug/pprof/">Found</a>.\n\n',
  })
  expect(await get('/debug/pprof/')).toMatchObject({ status: 200 })
  expect(await get('/debug/pprof/goroutine')).toEqual({ status: 404, headers: plainNoSniff, body: 'Unknown profile\n' })
  for (const seconds of ['0', '-1', 'x', '1e9'])
    expect(await get(`/debug/pprof/profile?seconds=${seconds}`)).toMatchObject({ status: 400 })
})

test('/debug/pprof/profile is a CPU profile that lasts as long as asked', async () => {
  const { get, clock } = await given({ profiling: { setVerbosity: () => {} } })
  const answer = get('/debug/pprof/profile?seconds=2')
  await vi.waitUntil(() => clock.sleeping === 1)
  await clock.advance(1999)
  expect(clock.sleeping).toBe(1)
  await clock.advance(1)
  const { status, headers, body } = await answer
  expect(status).toBe(200)
  expect(headers['content-disposition']).toBe('attachment; filename="profile.cpuprofile"')
  expect(JSON.parse(body)).toMatchObject({
    nodes: expect.any(Array) as unknown[],
    samples: expect.any(Array) as unknown[],
  })
})

test('a CPU profile ends when its client goes away', async () => {
  const { address, clock } = await given({ profiling: { setVerbosity: () => {} } })
  const stop = new AbortController()
  const url = `http://${address.ip}:${address.port}/debug/pprof/profile`
  const answer = fetch(url, { signal: stop.signal })
  await vi.waitUntil(() => clock.sleeping === 1)
  stop.abort()
  await expect(answer).rejects.toThrow('aborted')
  await vi.waitUntil(() => clock.sleeping === 0)
})

test('/debug/pprof/heap is a heap snapshot', async () => {
  const { get } = await given({ profiling: { setVerbosity: () => {} } })
  const { status, headers, body } = await get('/debug/pprof/heap')
  expect(status).toBe(200)
  expect(headers['content-disposition']).toBe('attachment; filename="heap.heapsnapshot"')
  expect(body.slice(0, 30)).toContain('{"snapshot":{')
})

async function given(options: Partial<MetricsServerOptions>) {
  const clock = new FakeClock(startMs)
  const handler = metricsHandler({
    component: 'kube-proxy',
    registry: new MetricRegistry(),
    mode: 'userspace',
    config: {},
    flags: undefined,
    statusz: undefined,
    profiling: undefined,
    processStartMs: startMs,
    clock,
    ...options,
  })
  const bind = { ip: '127.0.0.1', port: 0 }
  const listener = await listenHttp({ what: 'test', bind, handler, log: silentLogger })
  onTestFinished(() => listener[Symbol.asyncDispose]())
  const { address } = listener
  return { address, clock, get: (path: string, request?: RawRequest) => rawRequest(address, path, request) }
}

/** Which Accept headers work, and how, was recorded from the handlers of Kubernetes 1.36 for the same requests. */
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { serveMetrics } from './testing/serve-metrics.ts'

const plain = { 'content-type': 'text/plain; charset=utf-8' }

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
    const { get } = await serveMetrics({ flags })
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
    const { get } = await serveMetrics({ flags })
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
  const { get } = await serveMetrics({ flags })
  const answer = await get('/flagz', { headers: { accept: 'application/yaml' } })
  expect(answer).toMatchObject({ status: 406, headers: { 'content-type': 'application/yaml' } })
  expect(parse(answer.body)).toMatchObject({ kind: 'Status', reason: 'NotAcceptable', code: 406 })
})

for (const version of ['v1beta1', 'v1alpha1']) {
  test(`/flagz is an object for a program that asks for ${version}`, async () => {
    const { get } = await serveMetrics({ flags })
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
  const { get } = await serveMetrics({ flags })
  const accept = 'text/plain;q=0.1,application/json;v=v1beta1;g=config.k8s.io;as=Flagz'
  expect((await get('/flagz', { headers: { accept } })).headers['content-type']).toContain('application/json')
})

const statusz = { binaryVersion: '1.36', runtimeVersion: 'v20.20.2' }

test('/statusz tells people what runs and for how long', async () => {
  const { get, clock } = await serveMetrics({ statusz, flags })
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
  const { get, clock } = await serveMetrics({ statusz, flags })
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

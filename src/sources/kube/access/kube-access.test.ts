import { chmod, mkdir, readFile, readdir, rename, writeFile } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { expect, test } from 'vitest'
import { FakeClock } from '../../../core/testing/fake-clock.ts'
import { withLockedFolder } from '../../../host/testing/locked-folder.ts'
import { loadKubeAccess } from './kube-access.ts'
import type { KubeAccess } from './kube-access.ts'
import { KubeClient } from '../kube-client.ts'
import { writePlugin } from '../testing/credential-plugin.ts'
import type { PluginRun } from '../testing/credential-plugin.ts'
import { FaultServer } from '../testing/fault-server.ts'
import { RecordingLogger } from '../testing/recording-logger.ts'
import { TemporaryFolder } from '../testing/temporary-folder.ts'

const onWindows = process.platform === 'win32'
const never = new AbortController().signal

function kubeconfig(user: string, server = 'http://127.0.0.1:1'): string {
  return `
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "${server}"}}]
users: [{name: u, user: ${user}}]`
}

async function authorization(access: KubeAccess): Promise<unknown> {
  return (await access.resolve()).headers['authorization']
}

test('without any configuration outside a pod, the error says what to give', async () => {
  await expect(loadKubeAccess({ env: {} })).rejects.toThrow(
    'no API server is configured: give --kubeconfig or --master, or run as a pod',
  )
})

test('an IPv6 service address gets its brackets', async () => {
  await using account = await TemporaryFolder.make()
  await account.write('token', 't')
  await account.write('ca.crt', 'ca')
  const env = { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '443' }
  const access = await loadKubeAccess({ env, serviceAccountDir: account.path })
  expect((await access.resolve()).server.href).toBe('https://[fd00::1]/')
})

test('what is wrong with files is said at the start', async () => {
  await using folder = await TemporaryFolder.make()
  await expect(loadKubeAccess({ kubeconfig: `${folder.path}/absent` })).rejects.toThrow(
    /cannot read the kubeconfig from ".*absent": ENOENT/,
  )
  const file = await folder.write('kubeconfig', kubeconfig('{tokenFile: absent}'))
  await expect(loadKubeAccess({ kubeconfig: file })).rejects.toThrow(
    /cannot read the bearer token from ".*absent": ENOENT/,
  )
  const wrong = await folder.write('wrong', kubeconfig('{}', 'https://a b'))
  await expect(loadKubeAccess({ kubeconfig: wrong })).rejects.toThrow('the API server "https://a b" is not a URL')
})

test('a token file that goes away leaves the last token in use, and that is said once', async () => {
  await using folder = await TemporaryFolder.make()
  const log = new RecordingLogger()
  await folder.write('token', 'one')
  const file = await folder.write('kubeconfig', kubeconfig('{tokenFile: token}'))
  const access = await loadKubeAccess({ kubeconfig: file, log })
  expect(await authorization(access)).toBe('Bearer one')
  await rename(`${folder.path}/token`, `${folder.path}/away`)
  expect(await authorization(access)).toBe('Bearer one')
  expect(await authorization(access)).toBe('Bearer one')
  expect(log.messages('warn')).toEqual(['file unreadable, its last content stays in use'])
  await folder.write('token', 'two')
  expect(await authorization(access)).toBe('Bearer two')
})

test('files that PowerShell has written with ">", in UTF-16, are read', async () => {
  await using folder = await TemporaryFolder.make()
  const written = (text: string) => Buffer.from(`\uFEFF${text}\r\n`, 'utf16le')
  await writeFile(`${folder.path}/token`, written('the token'))
  const file = `${folder.path}/kubeconfig`
  await writeFile(file, written(kubeconfig('{tokenFile: token}')))
  expect(await authorization(await loadKubeAccess({ kubeconfig: file }))).toBe('Bearer the token')
})

test('a user name and password are basic authentication', async () => {
  await using folder = await TemporaryFolder.make()
  const file = await folder.write('kubeconfig', kubeconfig('{username: jürgen, password: "a:b"}'))
  expect(await authorization(await loadKubeAccess({ kubeconfig: file }))).toBe(
    `Basic ${Buffer.from('jürgen:a:b').toString('base64')}`,
  )
})

test('impersonation is sent in headers', async () => {
  await using folder = await TemporaryFolder.make()
  await using server = await FaultServer.start()
  const file = await folder.write('kubeconfig', kubeconfig('{as: jane, as-uid: "7", as-groups: [a, b]}', server.url))
  await using client = new KubeClient({ access: await loadKubeAccess({ kubeconfig: file }), version: '1' })
  server.otherwise((exchange) => exchange.json(200, {}))
  await client.request({ path: '/x' }, never)
  expect(server.received[0]?.headers).toMatchObject({
    'impersonate-user': 'jane',
    'impersonate-uid': '7',
    'impersonate-group': 'a, b',
  })
})

const v1 = 'client.authentication.k8s.io/v1'

async function plugin(folder: TemporaryFolder, ...runs: readonly PluginRun[]): Promise<string> {
  await writePlugin(folder, runs)
  const exec = `{apiVersion: ${v1}, command: ./login, interactiveMode: Never, env: [{name: WHO, value: me}], args: [x]}`
  return folder.write('kubeconfig', kubeconfig(`{exec: ${exec}}`))
}

function credential(status: Readonly<Record<string, string>>): PluginRun {
  return { prints: JSON.stringify({ apiVersion: v1, kind: 'ExecCredential', status }) }
}

test('an exec plugin is run once, with its arguments and environment, for all requests', async () => {
  await using folder = await TemporaryFolder.make()
  const access = await loadKubeAccess({ kubeconfig: await plugin(folder, credential({ token: 'one' })) })
  const all = await Promise.all([authorization(access), authorization(access), authorization(access)])
  expect(all).toEqual(Array(3).fill('Bearer one'))
  expect(await authorization(access)).toBe('Bearer one')
  expect((await readFile(`${folder.path}/arguments`, 'utf8')).trim()).toBe('me x')
})

test('an exec plugin is told the version to answer in, and that nobody is there to ask', async () => {
  await using folder = await TemporaryFolder.make()
  const access = await loadKubeAccess({ kubeconfig: await plugin(folder, credential({ token: 'one' })) })
  await access.resolve()
  const variable = await readFile(`${folder.path}/info`, 'utf8')
  expect(JSON.parse(variable.replace('KUBERNETES_EXEC_INFO=', ''))).toEqual({
    apiVersion: v1,
    kind: 'ExecCredential',
    spec: { interactive: false },
  })
})

test('an exec plugin is run again when its credential has expired', async () => {
  await using folder = await TemporaryFolder.make()
  const clock = new FakeClock(Date.UTC(2026, 0, 1))
  const first = credential({ token: 'one', expirationTimestamp: '2026-01-01T01:00:00Z' })
  const file = await plugin(folder, first, credential({ token: 'two' }))
  const access = await loadKubeAccess({ kubeconfig: file, clock })
  expect(await authorization(access)).toBe('Bearer one')
  await clock.advance(3_599_999)
  expect(await authorization(access)).toBe('Bearer one')
  await clock.advance(1)
  expect(await authorization(access)).toBe('Bearer two')
})

test('a 401 makes an exec plugin run again, and the request is repeated with the new token', async () => {
  await using folder = await TemporaryFolder.make()
  await using server = await FaultServer.start()
  const file = await plugin(folder, ...['one', 'two', 'three'].map((token) => credential({ token })))
  const access = await loadKubeAccess({ kubeconfig: file, master: server.url })
  await using client = new KubeClient({ access, version: '1' })
  server
    .script((exchange) => exchange.status(401, 'Unauthorized'))
    .script((exchange) => exchange.json(200, { ok: true }))
    .otherwise((exchange) => exchange.status(401, 'Unauthorized'))
  expect(await client.request({ path: '/x' }, never)).toEqual({ ok: true })
  expect(server.received.map((request) => request.headers['authorization'])).toEqual(['Bearer one', 'Bearer two'])
  await expect(client.request({ path: '/x' }, never)).rejects.toMatchObject({ reason: 'unauthorized' })
  expect(server.received).toHaveLength(4)
})

test('a 401 for a token that has not changed is not repeated', async () => {
  await using server = await FaultServer.start()
  await using client = new KubeClient({ access: await loadKubeAccess({ master: server.url }), version: '1' })
  server.otherwise((exchange) => exchange.status(401, 'Unauthorized'))
  await expect(client.request({ path: '/x' }, never)).rejects.toMatchObject({ reason: 'unauthorized' })
  expect(server.received).toHaveLength(1)
})

test('a 401 is repeated at once when the token file has a new token by then', async () => {
  await using folder = await TemporaryFolder.make()
  await using server = await FaultServer.start()
  await folder.write('token', 'old')
  const file = await folder.write('kubeconfig', kubeconfig('{tokenFile: token}', server.url))
  await using client = new KubeClient({ access: await loadKubeAccess({ kubeconfig: file }), version: '1' })
  server.otherwise(async (exchange) => {
    await folder.write('token', 'new')
    if (exchange.request.headers['authorization'] === 'Bearer new') exchange.json(200, { ok: true })
    else exchange.status(401, 'Unauthorized')
  })
  expect(await client.request({ path: '/x' }, never)).toEqual({ ok: true })
})

test('an exec plugin may give a client certificate', async () => {
  await using folder = await TemporaryFolder.make()
  const certificate = credential({ clientCertificateData: 'CERT', clientKeyData: 'KEY' })
  const access = await loadKubeAccess({ kubeconfig: await plugin(folder, certificate) })
  expect(await access.resolve()).toMatchObject({ tls: { cert: 'CERT', key: 'KEY' }, headers: {} })
})

test('an exec plugin that fails is reported, and tried again the next time', async () => {
  await using folder = await TemporaryFolder.make()
  const failure = { complains: 'no luck', exitCode: 3 }
  const access = await loadKubeAccess({ kubeconfig: await plugin(folder, failure, credential({ token: 'two' })) })
  await expect(access.resolve()).rejects.toThrow(/credential plugin ".*login" failed: exit code 3; it printed: no luck/)
  expect(await authorization(access)).toBe('Bearer two')
})

test('so is one that prints something wrong', async () => {
  await using folder = await TemporaryFolder.make()
  const file = await plugin(folder, { prints: 'hello' }, credential({ token: 'two' }))
  const access = await loadKubeAccess({ kubeconfig: file })
  await expect(access.resolve()).rejects.toThrow(/printed something that is not JSON/)
  expect(await authorization(access)).toBe('Bearer two')
})

test('an exec plugin may be a program in PATH, which the kubeconfig may set', async () => {
  await using folder = await TemporaryFolder.make()
  const answer = JSON.stringify(credential({ token: 'of Node.js' }).prints)
  await folder.write('login.mjs', `console.log(${answer})`)
  // Windows calls it Path, and so may a kubeconfig that is made for it.
  const env = [{ name: onWindows ? 'Path' : 'PATH', value: dirname(process.execPath) }]
  const exec = { apiVersion: v1, command: 'node', interactiveMode: 'Never', env, args: [`${folder.path}/login.mjs`] }
  const file = await folder.write('kubeconfig', kubeconfig(JSON.stringify({ exec })))
  expect(await authorization(await loadKubeAccess({ kubeconfig: file }))).toBe('Bearer of Node.js')
})

test('an exec plugin that the system does not know how to start is reported as a matter of credentials', async () => {
  await using folder = await TemporaryFolder.make()
  await folder.write('login.py', 'print(1)', 0o700)
  const exec = { apiVersion: v1, command: './login.py', interactiveMode: 'Never' }
  const file = await folder.write('kubeconfig', kubeconfig(JSON.stringify({ exec })))
  await expect((await loadKubeAccess({ kubeconfig: file })).resolve()).rejects.toMatchObject({ reason: 'credentials' })
})

test('an exec plugin that is not installed brings its own hint', async () => {
  await using folder = await TemporaryFolder.make()
  const exec = `{apiVersion: ${v1}, command: no-such-plugin, interactiveMode: Never, installHint: Get it from the shop.}`
  const file = await folder.write('kubeconfig', kubeconfig(`{exec: ${exec}}`))
  const access = await loadKubeAccess({ kubeconfig: file })
  await expect(access.resolve()).rejects.toThrow(
    /"no-such-plugin" failed: not found: install it.*Get it from the shop\./s,
  )
})

test.skipIf(onWindows)(
  'an exec plugin that is not installed is told from one that may not run, whatever folders are in PATH (not on Windows: modes)',
  async () => {
    await using folder = await TemporaryFolder.make()
    // `withLockedFolder` runs as another user, who must be able to write here.
    await chmod(folder.path, 0o777)
    const resolveWith = async (name: string, command: string, path: string) => {
      const env = `[{name: PATH, value: "${path}"}]`
      const exec = `{apiVersion: ${v1}, command: ${command}, interactiveMode: Never, env: ${env}}`
      const access = await loadKubeAccess({ kubeconfig: await folder.write(name, kubeconfig(`{exec: ${exec}}`)) })
      await access.resolve()
    }
    const locked = await folder.write('locked-plugin', '#!/bin/sh\n')
    await expect(resolveWith('one', locked, '/usr/bin')).rejects.toThrow(`this user may not run "${locked}"`)
    await withLockedFolder(async (unreadable) => {
      await expect(resolveWith('other', 'no-such-plugin', `${unreadable}:/usr/bin`)).rejects.toThrow(
        `"no-such-plugin" failed: not found (this user may not look into ${unreadable}): install it`,
      )
    })
  },
)

test('in a HostProcess container that does not bind its volumes, kubeconfig, token and CA are found below its mount point', async () => {
  await using mountPoint = await TemporaryFolder.make()
  await mkdir(`${mountPoint.path}/var/lib/kube-proxy`, { recursive: true })
  const config = kubeconfig('{tokenFile: /var/run/fairlead-test-token}').replace(
    'server:',
    'certificate-authority: ca.crt, server:',
  )
  await mountPoint.write('var/lib/kube-proxy/kubeconfig.conf', config)
  await mountPoint.write('var/lib/kube-proxy/ca.crt', 'the CA')
  await mkdir(`${mountPoint.path}/var/run`)
  await mountPoint.write('var/run/fairlead-test-token', 'the token')
  const access = await loadKubeAccess({
    kubeconfig: '/var/lib/kube-proxy/kubeconfig.conf',
    env: { CONTAINER_SANDBOX_MOUNT_POINT: mountPoint.path },
    platform: 'win32',
  })
  expect(await access.resolve()).toMatchObject({
    tls: { ca: 'the CA' },
    headers: { authorization: 'Bearer the token' },
  })
})

test.skipIf(!onWindows)('and so is an exec plugin (on Windows only)', async () => {
  await using mountPoint = await TemporaryFolder.make()
  await mkdir(`${mountPoint.path}/nowhere`)
  const file = await plugin(mountPoint, credential({ token: 'of the plugin' }))
  for (const name of await readdir(mountPoint.path))
    if (name !== 'nowhere') await rename(`${mountPoint.path}/${name}`, `${mountPoint.path}/nowhere/${name}`)
  const access = await loadKubeAccess({
    kubeconfig: `/nowhere/${basename(file)}`,
    env: { ...process.env, CONTAINER_SANDBOX_MOUNT_POINT: mountPoint.path },
  })
  expect(await authorization(access)).toBe('Bearer of the plugin')
})

test('the service account of a pod is found there too', async () => {
  await using mountPoint = await TemporaryFolder.make()
  await mkdir(`${mountPoint.path}/nowhere/account`, { recursive: true })
  await mountPoint.write('nowhere/account/token', 'of the pod')
  await mountPoint.write('nowhere/account/ca.crt', 'of the cluster')
  const env = {
    CONTAINER_SANDBOX_MOUNT_POINT: mountPoint.path,
    KUBERNETES_SERVICE_HOST: '10.96.0.1',
    KUBERNETES_SERVICE_PORT: '443',
  }
  const access = await loadKubeAccess({ env, platform: 'win32', serviceAccountDir: '/nowhere/account' })
  expect(await authorization(access)).toBe('Bearer of the pod')
})

import { resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parseKubeconfig } from './kubeconfig.ts'

const pem = '-----BEGIN CERTIFICATE-----\nMII=\n-----END CERTIFICATE-----\n'
const pemData = Buffer.from(pem).toString('base64')

function config(cluster: string, user = '{}'): string {
  return `
apiVersion: v1
kind: Config
current-context: main
contexts:
- name: other
  context: {cluster: nowhere, user: nobody}
- name: main
  context: {cluster: home, user: me}
clusters:
- name: home
  cluster: ${cluster}
users:
- name: me
  user: ${user}
`
}

function parse(text: string, master = '') {
  return parseKubeconfig(text, { file: '/etc/fairlead/kubeconfig', master })
}

const server = 'server: "https://api.example:6443"'

describe('the cluster', () => {
  test('is the one of the current context', () => {
    expect(parse(config(`{${server}}`)).cluster).toEqual({
      server: 'https://api.example:6443',
      ca: undefined,
      isInsecure: false,
      tlsServerName: undefined,
    })
  })

  test('has its certificate authority in a file, counted from the folder of the kubeconfig', () => {
    expect(parse(config(`{${server}, certificate-authority: pki/ca.crt}`)).cluster.ca).toEqual({
      file: resolve('/etc/fairlead/pki/ca.crt'),
    })
    expect(parse(config(`{${server}, certificate-authority: /ca.crt}`)).cluster.ca).toEqual({ file: '/ca.crt' })
  })

  test('has its certificate authority inline, which wins over the file', () => {
    const both = `{${server}, certificate-authority: ca.crt, certificate-authority-data: ${pemData}}`
    expect(parse(config(both)).cluster.ca).toEqual({ pem })
  })

  test('gets its server from --master, and the rest from the file', () => {
    const { cluster } = parse(config(`{${server}, tls-server-name: kubernetes}`), 'https://10.0.0.1:6443/')
    expect(cluster).toMatchObject({ server: 'https://10.0.0.1:6443', tlsServerName: 'kubernetes' })
  })

  test('may have a server without a scheme: https when TLS is set up, else http', () => {
    expect(parse(config('{server: "localhost:8080"}')).cluster.server).toBe('http://localhost:8080')
    const insecure = '{server: "localhost:6443", insecure-skip-tls-verify: true}'
    expect(parse(config(insecure)).cluster.server).toBe('https://localhost:6443')
  })
})

describe('the user', () => {
  test.each([
    ['{}', { kind: 'none' }],
    ['{token: abc}', { kind: 'token', token: 'abc' }],
    ['{tokenFile: t, token: abc}', { kind: 'token-file', file: resolve('/etc/fairlead/t'), fallback: 'abc' }],
    ['{username: u, password: p}', { kind: 'basic', username: 'u', password: 'p' }],
  ])('with %s authenticates so', (user, auth) => {
    expect(parse(config(`{${server}}`, user)).user.auth).toEqual(auth)
  })

  test('may have a client certificate beside a token', () => {
    const user = `{token: abc, client-certificate: me.crt, client-key-data: ${pemData}}`
    expect(parse(config(`{${server}}`, user)).user).toMatchObject({
      auth: { kind: 'token' },
      clientCertificate: { cert: { file: resolve('/etc/fairlead/me.crt') }, key: { pem } },
    })
  })

  test('may act as someone else', () => {
    const { impersonate } = parse(config(`{${server}}`, '{as: jane, as-groups: [dev, ops]}')).user
    expect(impersonate).toEqual({ user: 'jane', uid: undefined, groups: ['dev', 'ops'] })
  })

  test('may use an exec plugin', () => {
    const user = `
      exec:
        apiVersion: client.authentication.k8s.io/v1
        command: bin/login
        args: [--cluster, home]
        env: [{name: REGION, value: north}]
        interactiveMode: IfAvailable
        provideClusterInfo: true
        installHint: get it from the shop`
    expect(parse(config(`{${server}}`, user)).user.auth).toEqual({
      kind: 'exec',
      plugin: {
        apiVersion: 'client.authentication.k8s.io/v1',
        command: resolve('/etc/fairlead/bin/login'),
        args: ['--cluster', 'home'],
        env: { REGION: 'north' },
        installHint: 'get it from the shop',
        clusterInfo: { server: 'https://api.example:6443' },
      },
    })
  })
})

describe('a kubeconfig is refused with the place and the way out when', () => {
  const exec = (fields: string) => config(`{${server}}`, `{exec: {${fields}}}`)
  test.each([
    ['it is not YAML', 'a: [', /"\/etc\/fairlead\/kubeconfig" is not valid YAML: .* line 1/s],
    ['it is a list', '[]', /the file must be a mapping of fields/],
    [
      'it has no current context',
      'clusters: []',
      /has no current-context: choose one with "kubectl config use-context/,
    ],
    ['the context is missing', 'current-context: x', /names the context "x", but there is none in contexts/],
    ['the cluster is missing', config('{}').replace('name: home', 'name: away'), /names the cluster "home"/],
    ['the user is missing', config(`{${server}}`).replace('name: me', 'name: you'), /names the user "me"/],
    ['there is no server', config('{}'), /cluster "home" has no server: .* or use --master/],
    [
      'there is a proxy',
      config(`{${server}, proxy-url: "http://p"}`),
      /cluster "home" has a proxy-url, which Fairlead does/,
    ],
    [
      'verification is on and off',
      config(`{${server}, insecure-skip-tls-verify: true, certificate-authority: ca}`),
      /has both insecure-skip-tls-verify and a certificate-authority/,
    ],
    ['inline data is no PEM', config(`{${server}, certificate-authority-data: aGk=}`), /is not base64 of a PEM block/],
    ['a boolean is a word', config(`{${server}, insecure-skip-tls-verify: "yes"}`), /"yes": write true or false/],
    ['a token is a number', config(`{${server}}`, '{token: 123}'), /user "me" has token: 123, which is not a string/],
    ['there are two ways to log in', config(`{${server}}`, '{token: a, username: b}'), /both a token and a username/],
    [
      'half a certificate is given',
      config(`{${server}}`, '{client-key: k}'),
      /only one of client-certificate and client-key/,
    ],
    ['it wants an auth-provider', config(`{${server}}`, '{auth-provider: {name: gcp}}'), /use an exec plugin instead/],
    [
      'it sets as-user-extra',
      config(`{${server}}`, '{as: a, as-user-extra: {x: [y]}}'),
      /as-user-extra, which Fairlead/,
    ],
    ['a plugin is of an old version', exec('apiVersion: client.authentication.k8s.io/v1alpha1'), /v1 and v1beta1 are/],
    [
      'a plugin needs a person',
      exec('apiVersion: client.authentication.k8s.io/v1, interactiveMode: Always, command: x'),
      /a daemon has no terminal/,
    ],
    [
      'a v1 plugin says no mode',
      exec('apiVersion: client.authentication.k8s.io/v1, command: x'),
      /has no interactiveMode/,
    ],
    [
      'a plugin has no command',
      exec('apiVersion: client.authentication.k8s.io/v1beta1'),
      /user "me", exec, has no command: name the program/,
    ],
  ])('%s', (_what, text, message) => {
    expect(() => parse(text)).toThrow(message)
    expect(() => parse(text)).toThrow(expect.objectContaining({ reason: 'bad-config' }))
  })
})

test('--master alone is enough for a kubeconfig without contexts', () => {
  const target = parse('apiVersion: v1', 'http://localhost:8080')
  expect(target.cluster.server).toBe('http://localhost:8080')
  expect(target.user.auth.kind).toBe('none')
})

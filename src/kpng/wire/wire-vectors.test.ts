/** The same bytes as KPNG's last version. */
import { describe, expect, test } from 'vitest'
import { EndpointInfo, GlobalWatchReq, Node, NodeInfo, ServiceInfo } from '../proto/generated/globalv1/api.ts'
import { Endpoint, OpItem, Protocol, Service, Set as Sets, WatchReq } from '../proto/generated/localv1/api.ts'
import { hashEndpoint, hashEndpointInfo, hashNode, hashService } from './hashes.ts'
import { deleteFrame, resetFrame, setFrame, syncFrame } from './op-frames.ts'
import { globalEndpointPath, globalNodePath, globalServicePath } from './paths.ts'
import { xxh64 } from './xxh64.ts'

const bareService: Service = {
  Namespace: 'default',
  Name: '',
  Type: 'ClusterIP',
  MapIP: false,
  Ports: [],
  ExternalTrafficToLocal: false,
  InternalTrafficToLocal: false,
  Labels: {},
  Annotations: {},
  IPFilters: [],
  HealthCheckNodePort: 0,
}
const barePort = { Name: '', Protocol: Protocol.TCP, Port: 0, NodePort: 0, TargetPort: 0, TargetPortName: '' }
const noIps = { V4: [], V6: [] }

const web: Service = {
  ...bareService,
  Name: 'web',
  IPs: { ClusterIPs: { V4: ['10.96.0.10'], V6: [] }, ExternalIPs: noIps, Headless: false },
  Ports: [{ ...barePort, Name: 'http', Port: 80, TargetPort: 8080 }],
}
const sticky: Service = {
  ...bareService,
  Name: 'sticky',
  Type: 'LoadBalancer',
  IPs: {
    ClusterIPs: { V4: ['10.96.0.11'], V6: [] },
    ExternalIPs: noIps,
    Headless: false,
    LoadBalancerIPs: { V4: ['203.0.113.7'], V6: [] },
  },
  Ports: [{ ...barePort, Port: 443, NodePort: 30443, TargetPort: 8443 }],
  ExternalTrafficToLocal: true,
  IPFilters: [{ SourceRanges: ['198.51.100.0/24'] }],
  HealthCheckNodePort: 32000,
  SessionAffinity: { $case: 'ClientIP', value: { TimeoutSeconds: 10800 } },
}
const headless: Service = {
  ...bareService,
  Name: 'headless',
  IPs: { ClusterIPs: noIps, ExternalIPs: noIps, Headless: true },
  Ports: [{ ...barePort, Port: 6000, TargetPort: 6000 }],
}
const labelled: Service = {
  ...bareService,
  Name: 'lab',
  IPs: { ClusterIPs: { V4: ['10.96.0.12'], V6: [] }, ExternalIPs: noIps, Headless: false },
  Ports: [{ ...barePort, Name: 'dns', Protocol: Protocol.UDP, Port: 53, TargetPortName: 'dns-udp' }],
  Labels: { a: '', b: '2' },
}
const pod: Endpoint = {
  Hostname: '',
  IPs: { V4: ['10.244.1.5'], V6: [] },
  Local: false,
  PortOverrides: [{ Name: 'http', Port: 8080 }],
}
const both = { Internal: true, External: true }
const localPod: Endpoint = { ...pod, Local: true, Scopes: both }
const remotePod: Endpoint = { ...pod, Scopes: both }
const node: Node = {
  Name: 'node-a',
  Labels: { 'kubernetes.io/hostname': 'node-a', 'topology.kubernetes.io/zone': 'z1' },
  Annotations: {},
  Topology: { Node: 'node-a', Zone: 'z1' },
}
const podInfo: EndpointInfo = {
  Hash: 11633207494977549717n,
  Namespace: 'default',
  SourceName: 'web-abcde',
  ServiceName: 'web',
  Endpoint: pod,
  Conditions: { Ready: true },
  PodName: 'web-0',
  Topology: { Node: 'node-a', Zone: 'z1' },
}

const v6 =
  '0a0764656661756c7412037765621a09436c7573746572495022100a0c0a0a31302e39362e302e31301200320d0a04687474701001185028903f'
const v9 = '120c0a0a31302e3234342e312e35180122090a046874747010903f2a0408011001'
const v10 = '120c0a0a31302e3234342e312e3522090a046874747010903f2a0408011001'
const v16 =
  '0a066e6f64652d6112200a166b756265726e657465732e696f2f686f73746e616d6512066e6f64652d6112210a1b746f706f6c6f67792e6b756265726e657465732e696f2f7a6f6e6512027a31220c0a066e6f64652d6112027a31'
const v17 = `08c8aba7f9b8d3efa917125b${v16}`
const v19 = `08dbbce482d7f498bc8a01123a${v6}`
const v21 =
  '0895ebb184cd92ddb8a101120764656661756c741a097765622d616263646522037765623219120c0a0a31302e3234342e312e3522090a046874747010903f3a02080142057765622d304a0c0a066e6f64652d6112027a31'

interface Codec<T> {
  encode(message: T): { finish(): Uint8Array }
  decode(bytes: Uint8Array): T
}

function vector<T>(id: string, what: string, codec: Codec<T>, message: T, hex: string): void {
  test(`${id}: ${what}`, () => {
    expect(Buffer.from(codec.encode(message).finish()).toString('hex')).toBe(hex)
    expect(Buffer.from(codec.encode(codec.decode(Buffer.from(hex, 'hex'))).finish()).toString('hex')).toBe(hex)
  })
}

describe('messages', () => {
  vector('V1', 'a request', WatchReq, { NodeName: 'node-a' }, '0a066e6f64652d61')
  vector('V3', 'an empty request', GlobalWatchReq, {}, '')
  vector('V6', 'a Service', Service, web, v6)
  vector('V9', 'an endpoint on its node', Endpoint, localPod, v9)
  vector('V10', 'the endpoint seen from another node', Endpoint, remotePod, v10)
  vector(
    'V14',
    'affinity comes after everything else',
    Service,
    sticky,
    '0a0764656661756c741206737469636b791a0c4c6f616442616c616e636572221f0a0c0a0a31302e39362e302e31311200220d0a0b3230332e302e3131332e37320c100118bb0320ebed0128fb4138015211120f3139382e35312e3130302e302f32346880fa015a0308b054',
  )
  vector(
    'V15',
    'empty address sets are written',
    Service,
    headless,
    '0a0764656661756c741208686561646c6573731a09436c7573746572495022060a00120018013208100118f02e28f02e',
  )
  vector('V16', 'a Node', Node, node, v16)
  vector('V17', 'a Node with its hash', NodeInfo, { Hash: 1680896661270418888n, Node: node }, v17)
  vector('V19', 'a Service with its hash', ServiceInfo, { Hash: 9977834536644976219n, Service: web }, v19)
  vector('V21', 'an endpoint with what the cluster knows of it', EndpointInfo, podInfo, v21)
  const bare = { Hash: 0n, Namespace: '', SourceName: '', ServiceName: '', PodName: '' }
  vector('V24', 'ready', EndpointInfo, { ...bare, Conditions: { Ready: true } }, '3a020801')
  vector('V24', 'not ready', EndpointInfo, { ...bare, Conditions: { Ready: false } }, '3a00')
  vector('V25', 'a hint', EndpointInfo, { ...bare, Hints: { Zones: ['z1'] } }, '52040a027a31')
  const scoped = (Internal: boolean, External: boolean) => ({
    Hostname: '',
    Local: false,
    PortOverrides: [],
    Scopes: { Internal, External },
  })
  vector('V26', 'internal traffic only', Endpoint, scoped(true, false), '2a020801')
  vector('V26', 'external traffic only', Endpoint, scoped(false, true), '2a021001')
})

describe('operations', () => {
  const utf8 = (hex: string) => Buffer.from(hex, 'hex')
  const cases: readonly (readonly [string, Buffer, string])[] = [
    ['V4: Sync', syncFrame, '0a00'],
    ['V5: Reset', resetFrame, '2200'],
    [
      'V7: Set a Service',
      setFrame(Sets.ServicesSet, 'default/web', utf8(v6)),
      `124d0a0f0801120b64656661756c742f776562123a${v6}`,
    ],
    ['V8: Delete a Service', deleteFrame(Sets.ServicesSet, 'default/web'), '1a0f0801120b64656661756c742f776562'],
    [
      'V11: Set a named endpoint',
      setFrame(Sets.EndpointsSet, 'default/web/web-0', utf8(v9)),
      `123a0a150802121164656661756c742f7765622f7765622d301221${v9}`,
    ],
    [
      'V12: Set an anonymous endpoint',
      setFrame(Sets.EndpointsSet, `default/web/${hashEndpoint(remotePod).toString(16)}`, utf8(v10)),
      `12430a200802121c64656661756c742f7765622f37616138366463333434653763333830121f${v10}`,
    ],
    [
      'V13: Delete an endpoint',
      deleteFrame(Sets.EndpointsSet, 'default/web/web-0'),
      '1a150802121164656661756c742f7765622f7765622d30',
    ],
    [
      'V18: Set a Node',
      setFrame(Sets.GlobalNodeInfos, globalNodePath('node-a'), utf8(v17)),
      `12780a0d080c12097c6e6f64652d617c7c1267${v17}`,
    ],
    [
      'V20: Set a global Service',
      setFrame(Sets.GlobalServiceInfos, globalServicePath('default', 'web'), utf8(v19)),
      `125c0a11080a120d64656661756c747c7765627c7c1247${v19}`,
    ],
    [
      'V22: Set a global endpoint by its Service',
      setFrame(
        Sets.GlobalEndpointInfos,
        globalEndpointPath('default', 'web', 'web-abcde', 11633207494977549717n),
        utf8(v21),
      ),
      `1286010a2a080b122664656661756c747c7765627c7765622d61626364657c613137313734393464303863373539351258${v21}`,
    ],
    [
      'V23: Set a global endpoint by its source',
      setFrame(
        Sets.GlobalEndpointInfos,
        globalEndpointPath('default', '', 'web-abcde', 11633207494977549717n),
        utf8(v21),
      ),
      `1283010a27080b122364656661756c747c7c7765622d61626364657c613137313734393464303863373539351258${v21}`,
    ],
    [
      'V27: Delete a Node',
      deleteFrame(Sets.GlobalNodeInfos, globalNodePath('node-a')),
      '1a0d080c12097c6e6f64652d617c7c',
    ],
  ]
  test.each(cases)('%s', (_name, framed, hex) => {
    expect(framed.subarray(5).toString('hex')).toBe(hex)
    expect(framed.readUInt32BE(1)).toBe(hex.length / 2)
    expect(framed[0]).toBe(0)
    const decoded = OpItem.decode(framed.subarray(5))
    expect(Buffer.from(OpItem.encode(decoded).finish()).toString('hex')).toBe(hex)
  })

  test('V2: a request in its frame', () => {
    const message = WatchReq.encode({ NodeName: 'node-a' }).finish()
    expect(`00${message.length.toString(16).padStart(8, '0')}${Buffer.from(message).toString('hex')}`).toBe(
      '00000000080a066e6f64652d61',
    )
  })
})

describe('hashes', () => {
  const remoteV6: Endpoint = { ...remotePod, IPs: { V4: [], V6: ['fd00::5'] } }
  const apiServer: Endpoint = {
    ...remotePod,
    IPs: { V4: ['192.168.1.1'], V6: [] },
    PortOverrides: [{ Name: 'https', Port: 6443 }],
  }
  test.each([
    ['nothing', xxh64(Buffer.from('')), 'ef46db3751d8e999'],
    ['a', xxh64(Buffer.from('a')), 'd24ec4f1a98c6e5b'],
    ['asdf', xxh64(Buffer.from('asdf')), '415872f599cea71e'],
    ['a Service', hashService(web), '8a7863a570591e5b'],
    ['a Service with affinity', hashService(sticky), '27bb31f16cfcecfe'],
    ['a Service with an empty label', hashService(labelled), '73360a34c687d89a'],
    ['a Node', hashNode(node), '1753be9b8f29d5c8'],
    ['an endpoint of the cluster', hashEndpointInfo(podInfo), 'a1717494d08c7595'],
    ['the endpoint when not ready', hashEndpointInfo({ ...podInfo, Conditions: { Ready: false } }), '5355c5cff2199bd6'],
    ['an endpoint on its node', hashEndpoint(localPod), '9304dfe88335ea43'],
    ['an endpoint elsewhere', hashEndpoint(remotePod), '7aa86dc344e7c380'],
    ['an IPv6 endpoint', hashEndpoint(remoteV6), 'f8c7338e0e1cf29e'],
    ['the API server', hashEndpoint(apiServer), 'e31fddf6844ff3bd'],
  ])('of %s', (_name, hash, hex) => {
    expect(hash.toString(16)).toBe(hex)
  })

  test('a changed hint changes the hash of an endpoint', () => {
    expect(hashEndpointInfo({ ...podInfo, Hints: { Zones: ['z1'] } })).not.toBe(hashEndpointInfo(podInfo))
  })
})

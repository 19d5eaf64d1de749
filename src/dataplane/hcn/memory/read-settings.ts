/** Reads the documents that HNS is sent, and refuses what HNS refuses before it looks at what it holds. */
import { isJsonObject } from '../../../api/json-reader.ts'
import type { JsonObject } from '../../../api/json-reader.ts'
import { parseIp } from '../../../net/ip.ts'
import { hresult } from '../hresult.ts'
import type { HcnEndpoint, LoadBalancer } from '../hcn.ts'
import { parseEndpoint, parseLoadBalancer } from '../replies.ts'
import { HnsRefusal } from './refusal.ts'

export function readEndpoint(settings: string, id: string): HcnEndpoint {
  const document = readDocument(settings)
  const endpoint = parsed(() => parseEndpoint(JSON.stringify({ ...document, ID: id })))
  if (endpoint.ips.length === 0) throw new HnsRefusal(hresult.addressOutsideSubnets)
  return endpoint
}

export function readLoadBalancer(settings: string, id: string): LoadBalancer {
  const document = readDocument(settings)
  const balancer = parsed(() => parseLoadBalancer(JSON.stringify({ ...document, ID: id })))
  const vips = document['FrontendVIPs']
  const hasOnlyIps = !Array.isArray(vips) || vips.every((vip) => typeof vip === 'string' && parseIp(vip) !== undefined)
  if (balancer === undefined || balancer.endpoints.length === 0 || !hasOnlyIps)
    throw new HnsRefusal(hresult.policyInvalid)
  if (balancer.internalPort === 0) throw new HnsRefusal(hresult.internalPortMissing)
  return balancer
}

function readDocument(settings: string): JsonObject {
  const document: unknown = parsed(() => JSON.parse(settings))
  if (!isJsonObject(document)) throw new HnsRefusal(hresult.invalidJson)
  if (!isJsonObject(document['SchemaVersion'])) throw new HnsRefusal(hresult.policyInvalid)
  return document
}

function parsed<T>(parse: () => T): T {
  try {
    return parse()
  } catch {
    throw new HnsRefusal(hresult.invalidJson)
  }
}

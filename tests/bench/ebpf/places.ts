/** Where everything is, for the bench and for its processes. */
import { podAddress, serviceAddress } from '../core/cluster-objects.ts'

export const nodeIp = '192.0.2.10'
/** In the upper half of the pods' range; those of Services are in the lower. */
export const clientIp = '10.255.255.1'
/** The Service that clients ask: a plain cluster IP. */
export const testedService = 1

export const service = { ips: [serviceAddress(testedService)], port: 80 } as const
export const endpoints = { ips: [0, 1, 2, 3].map((place) => podAddress(testedService, place)), port: 8080 } as const

import { hostPort, parseIp } from '../net/ip.ts'

/** Splits `host:port` and `[host]:port` like Go's net.SplitHostPort. Without a port it returns nothing. */
export function splitHostPort(text: string): { readonly host: string; readonly port: string } | undefined {
  const { bracketed, plain, port } =
    /^(?:\[(?<bracketed>[^[\]]*)\]|(?<plain>[^:[\]]*)):(?<port>[^:[\]]*)$/.exec(text)?.groups ?? {}
  const host = bracketed ?? plain
  return host === undefined || port === undefined ? undefined : { host, port }
}

/** Adds the port to a bare IP address; validation checks everything else. */
export function withPort(address: string, port: number): string {
  // The text stays as it was written, except for the brackets of IPv6.
  return parseIp(address) === undefined ? address : hostPort(address, port)
}

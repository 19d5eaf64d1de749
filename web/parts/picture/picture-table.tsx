/** What the picture shows, to be read or heard. */
import type { OutcomeDetail, PortDetail } from '../../../src/observe/console/wire.ts'

export function PictureTable({ port }: { readonly port: PortDetail }) {
  return (
    <div class="picture-table">
      <table>
        <caption>Ways in to {port.route}</caption>
        <thead>
          <tr>
            <th scope="col">Address</th>
            <th scope="col">Kind</th>
            <th scope="col">Clients on this node</th>
            <th scope="col">Clients outside</th>
            <th scope="col">Allowed sources</th>
          </tr>
        </thead>
        <tbody>
          {port.entrances.map(({ kind, address, local, outside, allowed }) => (
            <tr key={`${kind} ${address}`}>
              <th scope="row">{address}</th>
              <td>{kind.replaceAll('-', ' ')}</td>
              <td>{outcomeWords(local)}</td>
              <td>{kind === 'cluster-ip' ? 'not meant for them' : outcomeWords(outside)}</td>
              <td>{allowed === undefined ? 'all' : allowed.join(', ') || 'none'}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function outcomeWords({ text, policy }: OutcomeDetail): string {
  return `${text} (policy ${policy})`
}

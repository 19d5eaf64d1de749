/** Which replica answered which client, newest at the right: turns and affinity can be seen at a glance. */
import type { DemoService } from '../../../src/observe/console/wire.ts'
import { colourOf, numberOf } from './replica-colour.ts'

export function WhoAnswers({ service: { key, clients } }: { readonly service: DemoService }) {
  return (
    <div class="demo-answers">
      <table>
        <caption>Who answered, newest at the right</caption>
        <colgroup>
          <col class="demo-client" />
          <col />
        </colgroup>
        <thead class="visually-hidden">
          <tr>
            <th scope="col">Client</th>
            <th scope="col">Its last answers</th>
          </tr>
        </thead>
        <tbody>
          {clients.map(({ address, answers }) => (
            <tr key={address}>
              <th scope="row">
                <span class="visually-hidden">Client of {key} </span>
                {address}
              </th>
              <td>
                <span class="visually-hidden">{inWords(answers)}</span>
                <span class="demo-strip" aria-hidden="true">
                  {answers.map((replica, index) => (
                    // Their places are all that tells them apart.
                    // oxlint-disable-next-line react/no-array-index-key
                    <span key={index} class="demo-chip" data-colour={replica === '' ? 'none' : colourOf(replica)}>
                      {replica === '' ? '×' : numberOf(replica)}
                    </span>
                  ))}
                </span>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

/** For those who cannot see the strip, who need not hear each answer: by whom the last were given. */
function inWords(answers: readonly string[]): string {
  if (answers.length === 0) return 'none yet'
  const last = answers.slice(-6)
  const replicas = [...new Set(last.filter(Boolean))].sort()
  const failed = last.filter((one) => one === '').length
  const by = replicas.length === 0 ? 'nobody answered' : `answered by ${replicas.join(', ')}`
  return failed > 0 && replicas.length > 0 ? `${by}; ${failed} of the last ${last.length} not answered` : by
}

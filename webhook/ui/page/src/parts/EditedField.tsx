/** A field of a manifest that is changed, with the value that it had and the one that it gets. */
import type { FieldEdit } from "../api-types";
import { inline } from "../model/words";
import { Name } from "./text";

export function EditedField({ edit }: { edit: FieldEdit }) {
  return (
    <p class="edit">
      <code>
        <Name>{edit.field}</Name>
      </code>{" "}
      {edit.new === null ? (
        <>
          remove <del>{inline(edit.old)}</del>
        </>
      ) : (
        <>
          <del>{inline(edit.old)}</del> → <ins>{inline(edit.new)}</ins>
        </>
      )}
    </p>
  );
}

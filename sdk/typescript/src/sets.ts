/** What a device needs for tasks about sets, and for those alone: a file of its own. */

export { deviceSet, type OwnItems } from "./encoding/deviceSets.js";
export { setFace, type SetFace, type SetQuestion } from "./oracles/setReports.js";

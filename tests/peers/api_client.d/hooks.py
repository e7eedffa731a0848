"""Prevents Schemathesis from ending or changing the token that it uses."""

import schemathesis


@schemathesis.hook
def before_call(context, case, kwargs):
    name = (case.path_parameters or {}).get("token_name")
    if isinstance(name, str) and name.strip() == "peer":
        case.path_parameters["token_name"] = "another"
